//! Comparing the three tables of links with each other and with entries.
//!
//! Every link is looked up from the set's side; equal counts on both sides prove that the member's
//! side has none in excess.

use std::collections::HashMap;

use super::report::Report;
use super::rows::is_stored;
use crate::error::Error;
use crate::id::EntryId;
use crate::link::chunk::Chunk;
use crate::link::rows::{self, Kind};
use crate::link::{LinkedSet, SetId, term, texts};
use crate::lmdb::Cursor;
use crate::snapshot::Snapshot;

/// Compares the link tables and returns the sum of the terms of all links. The check of entries
/// compares the flag in each row.
pub(super) fn check(snapshot: &Snapshot<'_>, report: &mut Report) -> Result<u128, Error> {
    let sets = check_sets(snapshot, report)?;
    let mut counted: HashMap<SetId, u64> = HashMap::new();
    let mut digest = 0_u128;
    let mut links = 0_u64;
    let mut chunks = snapshot.transaction.cursor(snapshot.tables.link)?;
    let mut reverse = snapshot.transaction.cursor(snapshot.tables.linked)?;
    while let Some((key, value)) = chunks.next()? {
        let Some((set, high)) = rows::of_chunk_key(key) else {
            report.add(|| "the key of a chunk of links cannot be read".to_owned());
            continue;
        };
        let chunk = match Chunk::parse(value).and_then(|it| it.check().map(|()| it)) {
            Ok(chunk) => chunk,
            Err(error) => {
                report.add(|| format!("set {}: {error}", set.0));
                continue;
            }
        };
        for low in chunk.members() {
            let member = EntryId(high.0 | u64::from(low));
            digest = digest.wrapping_add(term(set, member));
            links += 1;
            check_member(snapshot, &mut reverse, set, member, report)?;
        }
        *counted.entry(set).or_default() += chunk.len() as u64;
    }
    for (set, stored) in &sets {
        let members = counted.remove(set).unwrap_or(0);
        report.expect(stored.is_none_or(|stored| stored == members), || {
            format!("set {} has {members} members, not {stored:?}", set.0)
        });
    }
    for set in counted.keys() {
        report.add(|| format!("set {} has members but no owner", set.0));
    }
    let mut items = 0_u64;
    let mut cursor = snapshot.transaction.cursor(snapshot.tables.linked)?;
    while cursor.next()?.is_some() {
        items += 1;
    }
    report.expect(items == links, || {
        format!("there are {links} links in sets and {items} at their members")
    });
    Ok(digest)
}

fn check_member(
    snapshot: &Snapshot<'_>,
    reverse: &mut Cursor<'_>,
    set: SetId,
    member: EntryId,
    report: &mut Report,
) -> Result<(), Error> {
    let item = rows::item(member, set);
    let found = reverse.seek_item(&rows::bucket(member), &item)?;
    report.expect(found == Some(&item), || {
        format!("member {member} has no row for its set {}", set.0)
    });
    let exists = is_stored(snapshot, member)? || snapshot.text(member)?.is_some();
    report.expect(exists, || {
        format!("set {} has the member {member}, which is missing", set.0)
    });
    Ok(())
}

/// Returns every set with its number of members; the number of a detached set is not known.
fn check_sets(
    snapshot: &Snapshot<'_>,
    report: &mut Report,
) -> Result<HashMap<SetId, Option<u64>>, Error> {
    let mut sets = HashMap::new();
    let (mut owned, mut owners) = (0_u64, 0_u64);
    let (mut texts, mut hashes, mut sum) = (0_u64, 0_u64, 0_u128);
    let mut cursor = snapshot.transaction.cursor(snapshot.tables.linkset)?;
    while let Some((key, value)) = cursor.next()? {
        match rows::kind(key) {
            Some(Kind::Owned) => {
                owned += 1;
                if let Some((id, set)) = rows::of_owned(key, value)? {
                    check_owned(snapshot, id, &set, report)?;
                    sets.insert(set.set, Some(set.count));
                }
            }
            Some(Kind::Owner) => owners += 1,
            Some(Kind::Detached) => {
                owned += 1;
                if let Some(set) = rows::of_detached(key) {
                    sets.insert(set, None);
                    let row = (snapshot.transaction)
                        .get(snapshot.tables.linkset, &rows::owner_key(set))?;
                    let owner = row.map(|row| rows::of_owner(set, row)).transpose()?;
                    report.expect(owner == Some(None), || {
                        format!("set {} is detached and has an owner", set.0)
                    });
                }
            }
            Some(Kind::Text) => {
                texts += 1;
                if let Some(id) = rows::of_text_key(key) {
                    sum = sum.wrapping_add(texts::term(id, value));
                }
                check_text(snapshot, key, value, report)?;
            }
            Some(Kind::TextHash) => hashes += 1,
            None => report.add(|| "a row of the sets of links cannot be read".to_owned()),
        }
    }
    report.expect(owned == owners, || {
        format!("entries own {owned} sets, but {owners} sets name an owner")
    });
    report.expect(texts == hashes, || {
        format!("there are {texts} texts as members, {hashes} can be found")
    });
    let kept = snapshot.texts_sum()?;
    report.expect(kept.is_none_or(|kept| kept == sum), || {
        "the sum of the texts that are members is wrong".to_owned()
    });
    Ok(sets)
}

fn check_owned(
    snapshot: &Snapshot<'_>,
    id: EntryId,
    set: &LinkedSet,
    report: &mut Report,
) -> Result<(), Error> {
    let knows = match snapshot.stored_entry(id) {
        Ok(view) => view.is_some_and(|view| view.has_links()),
        // The check of entries reports the damaged entry.
        Err(Error::DamagedEntry { .. }) => true,
        Err(error) => return Err(error),
    };
    report.expect(knows, || {
        format!("entry {id} has a set of links but lacks the flag")
    });
    let key = rows::owner_key(set.set);
    let row = snapshot.transaction.get(snapshot.tables.linkset, &key)?;
    let owner = row.map(|row| rows::of_owner(set.set, row)).transpose()?;
    let sound = owner
        .flatten()
        .is_some_and(|it| (it.id, it.number) == (id, set.number));
    report.expect(sound, || {
        format!("set {} of entry {id} has another owner", set.set.0)
    });
    let last = snapshot.state()?.next_id;
    report.expect(set.set.0.0 < last && set.count > 0, || {
        format!(
            "set {} of entry {id} is empty or has an id that was never given",
            set.set.0
        )
    });
    Ok(())
}

fn check_text(
    snapshot: &Snapshot<'_>,
    key: &[u8],
    value: &[u8],
    report: &mut Report,
) -> Result<(), Error> {
    let (Some(id), Ok((_, normal))) = (rows::of_text_key(key), rows::of_text(value)) else {
        report.add(|| "a text that is a member cannot be read".to_owned());
        return Ok(());
    };
    let found = snapshot.text_id(normal)?;
    report.expect(found == Some(id), || {
        format!("text {id}, a member, is not found by its form")
    });
    report.expect(!snapshot.sets_of(id)?.is_empty(), || {
        format!("text {id} is a member of nothing")
    });
    Ok(())
}
