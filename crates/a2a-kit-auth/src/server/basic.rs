//! User names and passwords (RFC 7617).

use std::{collections::HashMap, sync::Arc, thread, time::Duration};

use a2a_core::{ParseError, v1::security_scheme::Scheme};
use a2a_kit_operations::Caller;
use argon2::{Argon2, PasswordHash, PasswordVerifier as _};
use async_trait::async_trait;
use tokio::task;

use super::{
    Attempt, Rejection, RequestCredential, SchemeVerifier, credential_digest::CredentialHasher,
    expiring_cache::ExpiringCache, pending_verifications::PendingVerifications,
};

/// Maximum length of a password, in bytes.
const MAX_PASSWORD_BYTES: usize = 1 << 10;
/// Maximum number of verifications waiting for a thread.
const MAX_WAITING: usize = 64;
/// Capacity and lifetime of the cache of verified passwords.
const CACHE: (usize, Duration) = (4_096, Duration::from_secs(300));

/// Users with Argon2 password hashes.
///
/// Hashing is slow on purpose. It runs on blocking threads, on at most half of the processors, and
/// is skipped for a password that was verified within the last 5 minutes. Of the passwords that wait,
/// those that were verified before go first, then those of clients with few failed attempts.
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
    verified: ExpiringCache<[u8; 32], ()>,
    pending: PendingVerifications,
    hasher: CredentialHasher,
}

impl Default for BasicUsers {
    fn default() -> Self {
        Self::new()
    }
}

impl BasicUsers {
    /// Creates an empty set of users.
    pub fn new() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let threads = processors.div_ceil(2);
        let shared = Shared {
            verified: ExpiringCache::new(CACHE.0),
            pending: PendingVerifications::new(threads, MAX_WAITING),
            hasher: CredentialHasher::new(),
        };
        Self { users: Arc::default(), shared: Arc::new(shared) }
    }

    /// Adds or replaces a user with an Argon2 hash, such as
    /// `$argon2id$v=19$m=19456,t=2,p=1$...`.
    ///
    /// # Errors
    ///
    /// [`ParseError`].
    pub fn with_user(
        mut self,
        user: impl Into<String>,
        hash: &str,
        caller: Caller,
    ) -> Result<Self, ParseError> {
        let user = user.into();
        if let Err(error) = validate(hash) {
            return Err(ParseError::new(format!(
                "password hash of user {user:?} is not an Argon2 hash in PHC format: {error}"
            )));
        }
        let users = Arc::make_mut(&mut self.users);
        users.insert(user, User { hash: hash.into(), caller });
        Ok(self)
    }
}

#[async_trait]
impl SchemeVerifier for BasicUsers {
    fn supports(&self, scheme: &Scheme) -> bool {
        match scheme {
            Scheme::HttpAuthSecurityScheme(http) => http.scheme.eq_ignore_ascii_case("basic"),
            _ => false,
        }
    }

    async fn verify(
        &self,
        credential: &RequestCredential,
        attempt: Attempt,
    ) -> Result<Caller, Rejection> {
        let RequestCredential::Basic { user, password } = credential else {
            return Err(Rejection::Invalid("not Basic credentials"));
        };
        if password.len() > MAX_PASSWORD_BYTES {
            return Err(Rejection::Invalid("password too long"));
        }
        let known = self.users.get(user);
        // An unknown user takes as much time as a known one.
        let Some(hashed) = known.or_else(|| self.users.values().next()) else {
            return Err(Rejection::Invalid("no users configured"));
        };
        let digest = self.shared.hasher.digest([credential])?;
        if let Some(user) = known
            && self.shared.verified.get(&digest).is_some()
        {
            return Ok(user.caller.clone());
        }
        let (hash, password) = (Arc::clone(&hashed.hash), password.clone());
        let caller = known.map(|user| user.caller.clone());
        let shared = Arc::clone(&self.shared);
        let hashing = async move {
            let matching = task::spawn_blocking(move || verify_password_hash(&hash, &password));
            let matches = matching.await.map_err(Rejection::unavailable)?;
            let caller = caller.filter(|_| matches);
            let caller = caller.ok_or(Rejection::Invalid("wrong user name or password"))?;
            shared.verified.insert(digest, (), CACHE.1);
            Ok(caller)
        };
        self.shared.pending.join(digest, attempt, hashing).await
    }
}

fn validate(hash: &str) -> Result<(), argon2::password_hash::Error> {
    let hash = PasswordHash::new(hash)?;
    argon2::Algorithm::try_from(hash.algorithm.as_str())?;
    argon2::Params::try_from(&hash)?;
    if hash.salt.is_none() || hash.hash.is_none() {
        return Err(argon2::password_hash::Error::EncodingInvalid);
    }
    Ok(())
}

fn verify_password_hash(hash: &str, password: &str) -> bool {
    let hash = PasswordHash::new(hash);
    hash.is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

a2a_core::debug_fields!(BasicUsers(..));

#[cfg(test)]
mod tests {
    use argon2::{Params, PasswordHasher as _, Version};

    use super::*;

    const ATTEMPT: Attempt = Attempt::Request { client: None, was_verified: false };

    fn hash(password: &str) -> String {
        let params = Params::new(8, 1, 1, None).unwrap();
        let argon = Argon2::new(argon2::Algorithm::Argon2id, Version::V0x13, params);
        argon.hash_password_with_salt(password.as_bytes(), b"somesalt").unwrap().to_string()
    }

    fn users() -> BasicUsers {
        BasicUsers::new().with_user("ann", &hash("right"), Caller::authenticated("ann")).unwrap()
    }

    fn basic(user: &str, password: &str) -> RequestCredential {
        RequestCredential::Basic { user: user.into(), password: password.into() }
    }

    #[tokio::test]
    async fn password_is_valid_only_for_its_user() {
        let users = users().with_user("bob", &hash("other"), Caller::authenticated("b")).unwrap();
        for _ in 0..2 {
            let bob = users.verify(&basic("bob", "other"), ATTEMPT).await.unwrap();
            assert_eq!(bob.subject(), Some("b"));
            for (user, password) in [("ann", "other"), ("bob", "right"), ("cy", "right"), ("", "")]
            {
                let rejected = users.verify(&basic(user, password), ATTEMPT).await;
                assert!(matches!(rejected, Err(Rejection::Invalid(_))), "{user}");
            }
        }
        let long = basic("bob", &"x".repeat(MAX_PASSWORD_BYTES + 1));
        assert!(matches!(users.verify(&long, ATTEMPT).await, Err(Rejection::Invalid(_))));
    }

    #[test]
    fn password_hash_must_be_argon2() {
        let bcrypt = "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW";
        let pbkdf2 = "$pbkdf2-sha256$i=1000,l=32$c29tZXNhbHQ$4vBP8pDqE5TmcBTzgUJSCg";
        let bare = "$argon2id$v=19$m=8,t=1,p=1";
        for hash in ["", "right", bcrypt, pbkdf2, bare] {
            let error = BasicUsers::new().with_user("ann", hash, Caller::ANONYMOUS).unwrap_err();
            assert!(error.to_string().contains("ann"), "{error}");
        }
    }
}
