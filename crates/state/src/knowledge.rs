//! The attribute types that operations refer to by name, looked up once.

use schema::{AttributeNumber, Description, Schema, TypeId};
use store::EntryView;

/// Object class of dynamic groups.
pub const DYNAMIC_GROUP_CLASS: &str = "groupOfURLs";
/// Object class of the subentries that lend attributes.
pub const COLLECTIVE_CLASS: &str = "collectiveAttributeSubentry";

/// One attribute type the operations know by name, and its number in this database.
#[derive(Debug, Clone)]
pub struct Known {
    /// The attribute type.
    pub type_id: TypeId,
    /// The number of the attribute in stored entries.
    pub number: AttributeNumber,
}

/// All stored attributes that operations refer to. Each has a number from the first write on.
#[derive(Debug, Clone)]
pub struct Knowledge {
    /// `objectClass`.
    pub object_class: Known,
    /// `structuralObjectClass`.
    pub structural_object_class: Known,
    /// `entryUUID` (RFC 4530).
    pub entry_uuid: Known,
    /// `entryCSN`.
    pub entry_csn: Known,
    /// `createTimestamp`.
    pub create_timestamp: Known,
    /// `modifyTimestamp`.
    pub modify_timestamp: Known,
    /// `creatorsName`.
    pub creators_name: Known,
    /// `modifiersName`.
    pub modifiers_name: Known,
    /// `userPassword`.
    pub user_password: Known,
    /// `aliasedObjectName`.
    pub aliased_object_name: Known,
    /// `ref` (RFC 3296).
    pub referral: Known,
    /// `pandoNamingContext`.
    pub naming_context: Known,
    /// `pandoAdministrator`.
    pub administrator_name: Known,
    /// `pandoIndexAttribute`.
    pub index_attribute: Known,
    /// `pandoIndexKind`.
    pub index_kind: Known,
    /// `attributeTypes` of the stored schema.
    pub schema_attribute_types: Known,
    /// `objectClasses` of the stored schema.
    pub schema_object_classes: Known,
}

/// Names of the types in [`Knowledge`], in the order in which a new database numbers them.
pub const STORED: [&str; 17] = [
    "objectClass",
    "structuralObjectClass",
    "entryUUID",
    "entryCSN",
    "createTimestamp",
    "modifyTimestamp",
    "creatorsName",
    "modifiersName",
    "userPassword",
    "aliasedObjectName",
    "ref",
    "pandoNamingContext",
    "pandoAdministratorName",
    "pandoIndexAttribute",
    "pandoIndexKind",
    "attributeTypes",
    "objectClasses",
];

impl Knowledge {
    /// Looks the types up. `None` when the schema or the dictionary lacks one of them.
    pub fn of(schema: &Schema) -> Option<Knowledge> {
        let mut found = STORED.into_iter().map(|text| {
            let description = schema.describe(text).ok()?;
            let number = schema.number(&description)?;
            Some(Known {
                type_id: description.type_id,
                number,
            })
        });
        let mut next = || found.next().flatten();
        Some(Knowledge {
            object_class: next()?,
            structural_object_class: next()?,
            entry_uuid: next()?,
            entry_csn: next()?,
            create_timestamp: next()?,
            modify_timestamp: next()?,
            creators_name: next()?,
            modifiers_name: next()?,
            user_password: next()?,
            aliased_object_name: next()?,
            referral: next()?,
            naming_context: next()?,
            administrator_name: next()?,
            index_attribute: next()?,
            index_kind: next()?,
            schema_attribute_types: next()?,
            schema_object_classes: next()?,
        })
    }
}

/// Returns a schema whose dictionary numbers every type in [`STORED`], with the dictionary rows to
/// store.
pub fn numbered(schema: &Schema) -> (Schema, Vec<schema::DictionaryRow>) {
    let mut schema = schema.clone();
    let mut rows = Vec::new();
    for text in STORED {
        let description: Description = schema
            .describe(text)
            .expect("the standard schema defines every known type");
        if schema.number(&description).is_none() {
            let (next, _, new) = schema
                .with_number(&description)
                .expect("a new dictionary has room for the known types");
            schema = next;
            rows.extend(new);
        }
    }
    (schema, rows)
}

/// The attribute types whose values are computed when they are read.
#[derive(Debug, Clone)]
pub struct Computed {
    /// `entryDN` (RFC 5020).
    pub entry_dn: TypeId,
    /// `subschemaSubentry` (RFC 4512 §4.2).
    pub subschema_subentry: TypeId,
    /// `hasSubordinates`.
    pub has_subordinates: TypeId,
    /// `numSubordinates`.
    pub num_subordinates: TypeId,
    /// The progress of an index build, in index definitions.
    pub index_state: TypeId,
    /// The groups that name the entry as a member.
    pub member_of: TypeId,
    /// The groups of the entry, nested and dynamic ones included.
    pub is_member_of: TypeId,
    /// The members of a group; stored.
    pub member: TypeId,
    /// `uniqueMember`.
    pub unique_member: TypeId,
    /// The searches that describe the members of a dynamic group; stored.
    pub member_url: TypeId,
    /// The subentries that lend collective attributes to the entry.
    pub collective_attribute_subentries: TypeId,
    /// Collective attributes that the entry excludes; this and the following are stored.
    pub collective_exclusions: TypeId,
    /// `subtreeSpecification` (RFC 3672).
    pub subtree_specification: TypeId,
    /// Change sequence number of the newest change in the directory; in naming contexts.
    pub context_csn: TypeId,
    /// `etag`: a short value that changes with each change of the entry.
    pub etag: TypeId,
    /// Remaining lifetime of a dynamic entry in seconds.
    pub entry_ttl: TypeId,
    /// End of a dynamic entry; stored.
    pub entry_end: TypeId,
}

impl Computed {
    /// Returns whether the type is `memberOf` or `isMemberOf`.
    pub fn is_membership(&self, type_id: TypeId) -> bool {
        type_id == self.member_of || type_id == self.is_member_of
    }

    /// Returns whether values of the type tell of the entries directly below one.
    pub fn counts_subordinates(&self, type_id: TypeId) -> bool {
        type_id == self.has_subordinates || type_id == self.num_subordinates
    }

    /// Returns whether values of the type are never stored, so that no index of them can exist.
    pub fn is_computed(&self, type_id: TypeId) -> bool {
        self.is_membership(type_id)
            || [
                self.entry_dn,
                self.subschema_subentry,
                self.has_subordinates,
                self.num_subordinates,
                self.index_state,
                self.collective_attribute_subentries,
                self.etag,
                self.entry_ttl,
            ]
            .contains(&type_id)
    }

    /// Looks the types up in a schema that has the standard definitions.
    pub fn of(schema: &Schema) -> Option<Computed> {
        Some(Computed {
            entry_dn: schema.attribute_type("entryDN")?,
            subschema_subentry: schema.attribute_type("subschemaSubentry")?,
            has_subordinates: schema.attribute_type("hasSubordinates")?,
            num_subordinates: schema.attribute_type("numSubordinates")?,
            index_state: schema.attribute_type("pandoIndexState")?,
            member_of: schema.attribute_type("memberOf")?,
            is_member_of: schema.attribute_type("isMemberOf")?,
            member: schema.attribute_type("member")?,
            unique_member: schema.attribute_type("uniqueMember")?,
            member_url: schema.attribute_type("memberURL")?,
            collective_attribute_subentries: schema
                .attribute_type("collectiveAttributeSubentries")?,
            collective_exclusions: schema.attribute_type("collectiveExclusions")?,
            subtree_specification: schema.attribute_type("subtreeSpecification")?,
            context_csn: schema.attribute_type("contextCSN")?,
            etag: schema.attribute_type("etag")?,
            entry_ttl: schema.attribute_type("entryTtl")?,
            entry_end: schema.attribute_type("entryExpireTimestamp")?,
        })
    }
}

/// The filter `(objectClass=class)`.
pub fn class_filter(schema: &Schema, class: &str) -> schema::Filter {
    schema.resolve_filter(&protocol::Filter::Equality {
        attribute: "objectClass",
        value: class.as_bytes(),
    })
}

/// Returns the values of an attribute, which may not have a number in this database yet.
pub fn texts_of(schema: &Schema, view: &EntryView<'_>, attribute: &str) -> Vec<String> {
    let setting = schema.attribute_type(attribute);
    let numbers = setting.map_or(&[][..], |it| schema.numbers_of(it));
    let stored = numbers.iter().filter_map(|it| view.attribute(*it));
    let values = stored.flat_map(|it| it.values().into_iter());
    values
        .map(|value| String::from_utf8_lossy(value).into_owned())
        .collect()
}
