//! Fetches the copy of a peer's database: several pieces at a time, going on after interruptions.

use super::SYNC_BYTES;
use super::local::{Local, other_generation};
use super::piece::{Buffers, Piece, sent_bytes_max};
use crate::peer::{Link, Offer, PeerClient, Sums};
use crate::trouble::Trouble;
use replica::membership::ClusterMark;
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};

/// Pieces fetched at a time.
const AT_A_TIME: usize = 4;
/// How long to try one peer without getting a piece: it may be starting again.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to try all peers without getting a piece.
const PATIENCE_WITH_ALL: Duration = Duration::from_secs(60);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// How far a fetch is, for those who look.
#[derive(Debug, Default)]
pub struct Watch {
    /// Bytes fetched or found from an earlier attempt.
    pub done: AtomicU64,
    /// Most bytes of the copy; 0 while unknown.
    pub total: AtomicU64,
    /// Bytes of `done` that an earlier attempt had fetched.
    pub found: AtomicU64,
}

/// Where a copy comes from.
#[derive(Clone, Copy)]
pub struct Source<'s> {
    /// Nodes, asked one after another.
    pub peers: &'s [PeerClient],
    /// Place of the log up to which the copy must have all records; 0 for any copy.
    pub place: u64,
    /// The cluster and the generation that the copy must be of.
    pub mark: ClusterMark,
}

/// Fetches a copy of the database into the data folder `data`, which must not exist. If a peer dies
/// meanwhile, it and the others are tried for a minute after the last piece.
///
/// # Errors
/// No peer has a copy, there is too little room, or a file cannot be written. What was fetched
/// stays for the next call.
pub async fn fetch(source: Source<'_>, data: &Path, watch: &Watch) -> Result<Offer, Trouble> {
    let local = Arc::new(Local::open(data)?);
    let writes = Arc::new(Semaphore::new(AT_A_TIME));
    let mut trouble = Trouble::Refused("no node is known that has a copy".to_owned());
    // The last piece, or the first answer; `None` while nobody has answered at all.
    let mut heard = None;
    loop {
        for peer in source.peers {
            let mut tried = Instant::now();
            loop {
                let attempt = Attempt::new(peer, &local, &writes, watch);
                let ended = attempt.run(&source).await;
                if attempt.fetched.get() > 0 || attempt.answered.get() && heard.is_none() {
                    heard = Some(Instant::now());
                    tried = Instant::now();
                }
                // What an ended attempt is still writing must not come after what the next writes.
                let _ = writes.acquire_many(AT_A_TIME as u32).await;
                trouble = match ended {
                    Ok(done) => match local.mismatch(&source.mark) {
                        None => {
                            local.take_name(done.bytes)?;
                            return Ok(done.offer);
                        }
                        Some(why) => Trouble::Refused(format!("{}: {why}", peer.address())),
                    },
                    // Trouble of this machine does not pass by itself.
                    Err(Stop::Here(trouble)) => return Err(trouble),
                    Err(Stop::There(trouble)) => trouble,
                };
                tracing::debug!(%trouble, "a copy was not fetched to its end");
                let refused = matches!(trouble, Trouble::Refused(_));
                if refused || heard.is_none() || tried.elapsed() >= PATIENCE {
                    break;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        let over = heard.is_none_or(|it| it.elapsed() >= PATIENCE_WITH_ALL);
        if over || matches!(trouble, Trouble::Refused(_)) {
            return Err(trouble);
        }
    }
}

/// Why an attempt ended.
enum Stop {
    /// This machine has trouble.
    Here(Trouble),
    /// The peer has, or the way to it.
    There(Trouble),
}

/// A complete copy.
struct Done {
    offer: Offer,
    bytes: u64,
}

/// One attempt to fetch from one peer.
struct Attempt<'a> {
    peer: &'a PeerClient,
    local: &'a Arc<Local>,
    writes: &'a Arc<Semaphore>,
    watch: &'a Watch,
    /// Bytes that the file had at the beginning: an earlier attempt's.
    earlier_bytes: u64,
    /// Whether the peer has offered a copy.
    answered: Cell<bool>,
    known: watch::Sender<Known>,
    next: Cell<usize>,
    unsynced: Cell<u64>,
    /// Number of pieces fetched.
    fetched: Cell<u64>,
}

/// The copy, as far as it is known.
#[derive(Default)]
struct Known {
    sums: Vec<u128>,
    /// Bytes of the whole, once it is complete.
    bytes: Option<u64>,
}

impl<'a> Attempt<'a> {
    fn new(
        peer: &'a PeerClient,
        local: &'a Arc<Local>,
        writes: &'a Arc<Semaphore>,
        watch: &'a Watch,
    ) -> Attempt<'a> {
        watch.done.store(0, Ordering::Relaxed);
        watch.found.store(0, Ordering::Relaxed);
        Attempt {
            peer,
            local,
            writes,
            watch,
            earlier_bytes: local.bytes(),
            answered: Cell::new(false),
            known: watch::Sender::new(Known::default()),
            next: Cell::new(0),
            unsynced: Cell::new(0),
            fetched: Cell::new(0),
        }
    }

    async fn run(&self, source: &Source<'_>) -> Result<Done, Stop> {
        let mut link = self.peer.connect().await.map_err(Stop::There)?;
        let path = format!("/snapshot/{}", source.place);
        let offer: Offer = link.get(&path).await.map_err(Stop::There)?;
        self.answered.set(true);
        if offer.piece_bytes == 0 || offer.piece_bytes > super::PIECE_BYTES {
            return Err(self.strange("a piece of another length than expected"));
        }
        // A program that does not say it is found out when the copy is complete.
        let other = offer
            .generation
            .map(|it| other_generation(&source.mark, it));
        if let Some(why) = other.flatten() {
            return Err(Stop::There(Trouble::Refused(format!(
                "{}: {why}",
                self.peer.address()
            ))));
        }
        self.watch.total.store(offer.bytes_max, Ordering::Relaxed);
        self.local
            .require_room(offer.bytes_max)
            .map_err(Stop::Here)?;
        // As many as [`AT_A_TIME`] says.
        tokio::try_join!(
            self.learn(&mut link, &offer),
            self.work(&offer),
            self.work(&offer),
            self.work(&offer),
            self.work(&offer)
        )?;
        let bytes = self.known.borrow().bytes;
        let bytes = bytes.ok_or_else(|| self.strange("a copy without an end"))?;
        Ok(Done { offer, bytes })
    }

    /// Learns checksums until all are known.
    async fn learn(&self, link: &mut Link, offer: &Offer) -> Result<(), Stop> {
        loop {
            let first = self.known.borrow().sums.len();
            let path = format!("/snapshot/{}/sums/{first}", offer.id);
            let more: Sums = link.get(&path).await.map_err(Stop::There)?;
            let sums = more.numbers();
            let sums = sums.ok_or_else(|| self.strange("a checksum that is none"))?;
            let complete = more.bytes.is_some_and(|bytes| {
                let pieces = bytes.div_ceil(offer.piece_bytes);
                (first + sums.len()) as u64 >= pieces
            });
            self.known.send_modify(|it| {
                it.sums.extend(sums);
                it.bytes = more.bytes.filter(|_| complete);
            });
            if let Some(bytes) = more.bytes {
                self.watch.total.store(bytes, Ordering::Relaxed);
            }
            if complete {
                return Ok(());
            }
        }
    }

    /// Gets pieces until none is left.
    async fn work(&self, offer: &Offer) -> Result<(), Stop> {
        let mut link = None;
        let mut buffers = Buffers::default();
        while let Some(piece) = self.next_piece(offer).await {
            let begin = piece.begin;
            if begin < self.earlier_bytes {
                let has;
                (has, buffers) = self.look(piece, offer, buffers).await?;
                if has {
                    let found = buffers.plain.len() as u64;
                    self.count(found);
                    self.watch.found.fetch_add(found, Ordering::Relaxed);
                    continue;
                }
            }
            if link.is_none() {
                link = Some(self.peer.connect().await.map_err(Stop::There)?);
            }
            if let Some(link) = &mut link {
                let path = format!("/snapshot/{}/{}", offer.id, piece.number);
                let bytes_max = sent_bytes_max(offer.piece_bytes);
                let got = link.get_bytes(&path, bytes_max, &mut buffers.sent).await;
                got.map_err(Stop::There)?;
            }
            let written;
            (written, buffers) = self.write(piece, offer, buffers).await?;
            if !written {
                return Err(self.strange("a damaged piece of the copy"));
            }
            self.fetched.set(self.fetched.get() + 1);
            self.count(buffers.plain.len() as u64);
        }
        Ok(())
    }

    /// The next piece to get, when it is known; `None` when there are no more.
    async fn next_piece(&self, offer: &Offer) -> Option<Piece> {
        let number = self.next.replace(self.next.get() + 1);
        let mut known = self.known.subscribe();
        let known = known
            .wait_for(|it| it.sums.len() > number || it.bytes.is_some())
            .await
            .ok()?;
        let sum = *known.sums.get(number)?;
        let begin = number as u64 * offer.piece_bytes;
        Some(Piece { number, begin, sum })
    }

    /// Whether a piece is here already; gives the buffers back with the piece in them.
    async fn look(
        &self,
        piece: Piece,
        offer: &Offer,
        mut buffers: Buffers,
    ) -> Result<(bool, Buffers), Stop> {
        let local = Arc::clone(self.local);
        let end = self.known.borrow().bytes.unwrap_or(u64::MAX);
        let bytes = offer.piece_bytes.min(end - piece.begin);
        let permit = Arc::clone(self.writes).acquire_owned().await;
        let permit = permit.map_err(|error| Stop::Here(Trouble::of(error)))?;
        let looked = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let has = local.has(piece.begin, piece.sum, &mut buffers.plain, bytes);
            (has, buffers)
        });
        looked.await.map_err(panicked)
    }

    /// Writes a piece that was sent, unless it is damaged, and gives the buffers back. Returns
    /// whether it was written.
    async fn write(
        &self,
        piece: Piece,
        offer: &Offer,
        mut buffers: Buffers,
    ) -> Result<(bool, Buffers), Stop> {
        let local = Arc::clone(self.local);
        let piece_bytes = offer.piece_bytes;
        let unsynced = self.unsynced.get() + piece_bytes;
        let sync = unsynced >= SYNC_BYTES;
        self.unsynced.set(if sync { 0 } else { unsynced });
        let permit = Arc::clone(self.writes).acquire_owned().await;
        let permit = permit.map_err(|error| Stop::Here(Trouble::of(error)))?;
        let written = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            if !buffers.unpack(piece, piece_bytes) {
                return Ok((false, buffers));
            }
            local.write(piece.begin, &buffers.plain)?;
            if sync {
                // Others go on writing meanwhile.
                local.sync()?;
            }
            Ok((true, buffers))
        });
        written.await.map_err(panicked)?.map_err(Stop::Here)
    }

    fn count(&self, bytes: u64) {
        self.watch.done.fetch_add(bytes, Ordering::Relaxed);
    }

    fn strange(&self, what: &str) -> Stop {
        Stop::There(Trouble::unreachable(
            self.peer.address(),
            format!("it sent {what}"),
        ))
    }
}

fn panicked(error: tokio::task::JoinError) -> Stop {
    Stop::Here(Trouble::internal("fetching the copy", error))
}
