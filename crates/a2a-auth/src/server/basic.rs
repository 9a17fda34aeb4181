//! Names and passwords (RFC 7617).

use std::{collections::HashMap, fmt, sync::Arc, thread, time::Duration};

use a2a_core::v1::security_scheme::Scheme;
use a2a_operations::Caller;
use argon2::{Argon2, PasswordHash, PasswordVerifier as _};
use async_trait::async_trait;
use tokio::{sync::Semaphore, task};

use super::{Presented, Rejection, Verifier, cache::Remembered, memory::Digests};

/// Longest password that is hashed, in bytes.
const MAX_PASSWORD_BYTES: usize = 1 << 10;
/// Most tries that wait for a thread; more are refused.
const MAX_WAITING: usize = 64;
/// Most passwords that are remembered as right, and for how long.
const REMEMBERED: (usize, Duration) = (4_096, Duration::from_secs(300));

/// Users with passwords, of which only Argon2 hashes are kept.
///
/// Hashing is slow on purpose. It happens on threads of its own, on half of the processors at most,
/// and not again for a password that was right less than 5 minutes ago.
#[derive(Clone)]
pub struct BasicUsers {
    users: Arc<HashMap<String, User>>,
    shared: Arc<Shared>,
}

#[derive(Clone)]
struct User {
    hash: Arc<str>,
    caller: Caller,
}

struct Shared {
    /// Everyone who waits or hashes.
    queue: Arc<Semaphore>,
    /// Everyone who hashes.
    threads: Arc<Semaphore>,
    right: Remembered<[u8; 32], ()>,
    digests: Digests,
}

/// A hash can't be used.
#[derive(Debug, thiserror::Error)]
#[error("the password of {user:?} is not an Argon2 hash in PHC form: {source}")]
pub struct InvalidHash {
    user: String,
    source: argon2::password_hash::Error,
}

impl Default for BasicUsers {
    fn default() -> Self {
        Self::new()
    }
}

impl BasicUsers {
    /// No users yet.
    pub fn new() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let threads = processors.div_ceil(2);
        let shared = Shared {
            queue: Arc::new(Semaphore::new(threads + MAX_WAITING)),
            threads: Arc::new(Semaphore::new(threads)),
            right: Remembered::new(REMEMBERED.0),
            digests: Digests::new(),
        };
        Self { users: Arc::default(), shared: Arc::new(shared) }
    }

    /// Adds a user, or replaces the one of the same name, with an Argon2 hash as
    /// `$argon2id$v=19$m=19456,t=2,p=1$...`.
    ///
    /// # Errors
    ///
    /// [`InvalidHash`].
    pub fn with_user(
        mut self,
        user: impl Into<String>,
        hash: &str,
        caller: Caller,
    ) -> Result<Self, InvalidHash> {
        let user = user.into();
        if let Err(source) = usable(hash) {
            return Err(InvalidHash { user, source });
        }
        let users = Arc::make_mut(&mut self.users);
        users.insert(user, User { hash: hash.into(), caller });
        Ok(self)
    }

    /// Returns whether a password is the one of a hash.
    async fn matches(&self, hash: Arc<str>, password: String) -> Result<bool, Rejection> {
        let queue = Arc::clone(&self.shared.queue);
        let place = queue.try_acquire_owned().map_err(|_full| Rejection::Overloaded)?;
        let threads = Arc::clone(&self.shared.threads);
        let thread = threads.acquire_owned().await.map_err(|_never| Rejection::Overloaded)?;
        // Both go along: who hangs up does not make room for one more.
        let hashed = task::spawn_blocking(move || {
            let matches = is_of(&hash, &password);
            drop((place, thread));
            matches
        });
        hashed.await.map_err(|error| Rejection::Unavailable(error.into()))
    }
}

#[async_trait]
impl Verifier for BasicUsers {
    fn fits(&self, scheme: &Scheme) -> bool {
        match scheme {
            Scheme::HttpAuthSecurityScheme(http) => http.scheme.eq_ignore_ascii_case("basic"),
            _ => false,
        }
    }

    fn can_be_guessed(&self) -> bool {
        true
    }

    async fn verify(&self, presented: &Presented) -> Result<Caller, Rejection> {
        let Presented::Basic { user, password } = presented else {
            return Err(Rejection::Invalid("it is no name with a password"));
        };
        if password.len() > MAX_PASSWORD_BYTES {
            return Err(Rejection::Invalid("the password is too long"));
        }
        let known = self.users.get(user);
        // Who is not known costs as much time as who is.
        let Some(hashed) = known.or_else(|| self.users.values().next()) else {
            return Err(Rejection::Invalid("there are no users"));
        };
        let digest = self.shared.digests.of([presented]);
        let right = &self.shared.right;
        if let (Some(user), Some(digest)) = (known, &digest)
            && right.get(digest).is_some()
        {
            return Ok(user.caller.clone());
        }
        let matches = self.matches(Arc::clone(&hashed.hash), password.clone()).await?;
        match known {
            Some(user) if matches => {
                if let Some(digest) = digest {
                    right.insert(digest, (), REMEMBERED.1);
                }
                Ok(user.caller.clone())
            }
            _ => Err(Rejection::Invalid("the name or the password is wrong")),
        }
    }
}

fn usable(hash: &str) -> Result<(), argon2::password_hash::Error> {
    let hash = PasswordHash::new(hash)?;
    argon2::Algorithm::try_from(hash.algorithm)?;
    argon2::Params::try_from(&hash)?;
    if hash.salt.is_none() || hash.hash.is_none() {
        return Err(argon2::password_hash::Error::PhcStringField);
    }
    Ok(())
}

fn is_of(hash: &str, password: &str) -> bool {
    let hash = PasswordHash::new(hash);
    hash.is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

impl fmt::Debug for BasicUsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BasicUsers({})", self.users.len())
    }
}

#[cfg(test)]
mod tests {
    use argon2::{Params, PasswordHasher as _, Version, password_hash::SaltString};

    use super::*;

    fn hash(password: &str) -> String {
        let params = Params::new(8, 1, 1, None).unwrap();
        let argon = Argon2::new(argon2::Algorithm::Argon2id, Version::V0x13, params);
        let salt = SaltString::from_b64("c29tZXNhbHQ").unwrap();
        argon.hash_password(password.as_bytes(), &salt).unwrap().to_string()
    }

    fn users() -> BasicUsers {
        BasicUsers::new().with_user("ann", &hash("right"), Caller::authenticated("ann")).unwrap()
    }

    fn basic(user: &str, password: &str) -> Presented {
        Presented::Basic { user: user.into(), password: password.into() }
    }

    #[tokio::test]
    async fn a_password_is_right_for_its_user_alone() {
        let users = users().with_user("bob", &hash("other"), Caller::authenticated("b")).unwrap();
        for _ in 0..2 {
            let bob = users.verify(&basic("bob", "other")).await.unwrap();
            assert_eq!(bob.subject(), Some("b"));
            for (user, password) in [("ann", "other"), ("bob", "right"), ("cy", "right"), ("", "")]
            {
                let rejected = users.verify(&basic(user, password)).await;
                assert!(matches!(rejected, Err(Rejection::Invalid(_))), "{user}");
            }
        }
        let long = basic("bob", &"x".repeat(MAX_PASSWORD_BYTES + 1));
        assert!(matches!(users.verify(&long).await, Err(Rejection::Invalid(_))));
    }

    #[tokio::test]
    async fn no_more_wait_for_a_thread_than_may() {
        let users = users();
        let all = users
            .shared
            .queue
            .clone()
            .acquire_many_owned(u32::try_from(users.shared.queue.available_permits()).unwrap());
        let all = all.await.unwrap();
        let refused = users.verify(&basic("ann", "right")).await;
        assert!(matches!(refused, Err(Rejection::Overloaded)));
        drop(all);
        users.verify(&basic("ann", "right")).await.unwrap();
        let all = users
            .shared
            .queue
            .clone()
            .acquire_many_owned(u32::try_from(users.shared.queue.available_permits()).unwrap());
        let _all = all.await.unwrap();
        users.verify(&basic("ann", "right")).await.expect("it is remembered");
    }

    #[test]
    fn a_hash_has_to_be_one_of_argon2() {
        let bcrypt = "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW";
        let pbkdf2 = "$pbkdf2-sha256$i=1000,l=32$c29tZXNhbHQ$4vBP8pDqE5TmcBTzgUJSCg";
        let bare = "$argon2id$v=19$m=8,t=1,p=1";
        for hash in ["", "right", bcrypt, pbkdf2, bare] {
            let error = BasicUsers::new().with_user("ann", hash, Caller::ANONYMOUS).unwrap_err();
            assert!(error.to_string().contains("ann"), "{error}");
        }
    }
}
