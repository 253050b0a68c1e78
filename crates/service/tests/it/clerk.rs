//! Services with partners that the tests share.

use crate::shop::{Chain, CornerShop, ShopClient, ShopContract, replay_with};
use motet_dispatch::Replay;
use motet_service::{Cx, Fault, Memory, Node, Service, State, Store, Subscribe, contract, data};

#[data]
#[derive(Default)]
pub(crate) struct Beats {
    pub(crate) beats: u64,
    pub(crate) seen: u64,
}

/// Has partners, beats, and takes notifications.
#[contract(uri = "test:clerk/1", state = Beats)]
pub(crate) trait Clerk {
    #[query]
    async fn apples(&self) -> Result<i64, Fault>;
    #[notified]
    fn changed(&mut self, by: motet_service::Notification<ShopContract>);
    #[every(seconds = 1.0)]
    fn beat(&mut self);
}

#[derive(Service)]
#[service(contract = Clerk, start = begin)]
pub(crate) struct ShopClerk {
    #[state]
    beats: State<Beats>,
    #[partner(policy = UseExisting)]
    shop: ShopClient,
    #[expect(dead_code, reason = "it is bound, and that is all")]
    #[partner]
    spare: Option<ShopClient>,
    /// Of a type that is registered; nobody makes one.
    #[partner(policy = UseExisting)]
    absent: Option<LeftHandClient>,
}

impl ShopClerk {
    async fn begin(&mut self, cx: &Cx) -> Result<(), Fault> {
        if let Some(made) = &self.absent {
            let reason = format!("{} is there, which nobody has made", made.path());
            return Err(Fault::failed(reason));
        }
        cx.subscribe::<ClerkClient, _>(&self.shop, Subscribe::all(), ClerkRequest::Changed)
            .await
    }
}

macro_rules! clerk {
    ($clerk:ty) => {
        impl Clerk for $clerk {
            async fn apples(&self) -> Result<i64, Fault> {
                self.shop.count("apples".to_owned()).await
            }
            fn changed(&mut self, _: motet_service::Notification<ShopContract>) {
                self.beats.seen += 1;
            }
            fn beat(&mut self) {
                self.beats.beats += 1;
            }
        }
    };
}
clerk!(ShopClerk);

#[derive(Service)]
#[service(contract = Clerk)]
pub(crate) struct SharedClerk {
    #[state]
    beats: State<Beats>,
    #[partner(policy = UseExistingOrCreate)]
    shop: ShopClient,
}
clerk!(SharedClerk);

#[derive(Service)]
#[service(contract = Clerk)]
pub(crate) struct OwnClerk {
    #[state]
    beats: State<Beats>,
    #[partner(policy = CreateAlways)]
    shop: ShopClient,
}
clerk!(OwnClerk);

/// Fails to start.
#[derive(Service)]
#[service(contract = Clerk, start = begin, unlisted)]
pub(crate) struct BadClerk {
    #[state]
    beats: State<Beats>,
    #[partner(policy = UseExisting)]
    shop: ShopClient,
}
clerk!(BadClerk);

impl BadClerk {
    async fn begin(&mut self, _: &Cx) -> Result<(), Fault> {
        Err(Fault::failed("it overslept"))
    }
}

/// Two that need each other.
#[contract(uri = "test:left/1", state = Beats)]
pub(crate) trait LeftHand {}
#[contract(uri = "test:right/1", state = Beats)]
pub(crate) trait RightHand {}

#[derive(Service)]
#[service(contract = LeftHand)]
pub(crate) struct Left {
    #[state]
    beats: State<Beats>,
    #[expect(dead_code, reason = "it is bound, and that is all")]
    #[partner(policy = UseExisting)]
    other: RightHandClient,
}
#[derive(Service)]
#[service(contract = RightHand)]
pub(crate) struct Right {
    #[state]
    beats: State<Beats>,
    #[expect(dead_code, reason = "it is bound, and that is all")]
    #[partner(policy = UseExisting)]
    other: LeftHandClient,
}
impl LeftHand for Left {}
impl RightHand for Right {}

/// Always wants another of its own type.
#[contract(uri = "test:doll/1", state = Beats)]
pub(crate) trait Dolls {}

#[derive(Service)]
#[service(contract = Dolls, many)]
pub(crate) struct Doll {
    #[state]
    beats: State<Beats>,
    #[expect(dead_code, reason = "it is bound, and that is all")]
    #[partner(policy = CreateAlways)]
    inner: DollsClient,
}
impl Dolls for Doll {}

pub(crate) fn node(host: &impl motet_service::Host) -> Node {
    node_with(host, Memory::default())
}

pub(crate) fn node_with(host: &impl motet_service::Host, store: impl Store) -> Node {
    Node::builder("test")
        .register::<CornerShop>()
        .register::<Chain>()
        .register::<ShopClerk>()
        .register::<SharedClerk>()
        .register::<OwnClerk>()
        .register::<BadClerk>()
        .register::<Left>()
        .register::<Right>()
        .register::<Doll>()
        .store(store)
        .start(host)
        .unwrap()
}

pub(crate) fn replay<F>(test: impl Fn(Node) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for seed in 0..4 {
        let replay = Replay::new(seed);
        replay_with(&replay, &node(&replay), &test);
    }
}
