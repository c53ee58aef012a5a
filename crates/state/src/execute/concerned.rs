//! Notes accounts whose connections are to be judged again after the commit.

use super::Execution;
use crate::write::Change;
use store::EntryId;

impl Execution<'_, '_> {
    /// Notes a deleted or renamed entry. If entries are below it, they lose their names as well.
    pub(super) fn notice_lost_name(&mut self, id: EntryId, has_subordinates: bool) {
        // It may have been a group, too.
        self.noticed.concerned.groups = true;
        match has_subordinates {
            true => self.noticed.concerned.everybody = true,
            false => self.noticed.concerned.note(id),
        }
    }

    /// Notes an added or modified entry if the change may end the rights of connections: of those
    /// bound as the entry, of those under the policy that the entry is, or of members of the group
    /// that it is.
    pub(super) fn notice_change(&mut self, id: EntryId, change: &Change) {
        let (catalog, types) = (self.catalog, &self.catalog.policing.types);
        let password = catalog.known.user_password.type_id;
        let own = [
            password,
            types.locked,
            types.start,
            types.end,
            types.subentry,
            types.changed,
        ];
        let (is_add, given) = match change {
            Change::Add(addition) => {
                let given = addition.attributes.iter();
                (true, given.map(|it| it.description.type_id).collect())
            }
            Change::Modify(changes) => {
                let given = changes.iter();
                (
                    false,
                    given.map(|it| it.given.description.type_id).collect(),
                )
            }
            _ => (false, Vec::new()),
        };
        let concerned = &mut self.noticed.concerned;
        for type_id in given {
            if !is_add && own.contains(&type_id) && concerned.entries.last() != Some(&id) {
                concerned.note(id);
            }
            // A policy that is added may be the one that others name already.
            concerned.everybody |= type_id == catalog.policing.max_age;
            concerned.groups |=
                [catalog.computed.member, catalog.computed.unique_member].contains(&type_id);
        }
    }
}
