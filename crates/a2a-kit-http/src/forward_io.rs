//! Forwarding of reads and writes.

/// Implements methods of an I/O trait by those of a field, for wrappers of connections. The traits
/// of tokio and hyper have the same ones for writing.
macro_rules! forward_io {
    ($field:ident: $($method:ident),+ $(,)?) => {
        $($crate::forward_io::forward_io!(@ $method $field);)+
    };
    (@ poll_read $field:ident) => {
        $crate::forward_io::forward_io!(
            @@ poll_read $field (buffer: &mut tokio::io::ReadBuf<'_>) -> ()
        );
    };
    (@ poll_write $field:ident) => {
        $crate::forward_io::forward_io!(@@ poll_write $field (bytes: &[u8]) -> usize);
    };
    (@ poll_write_vectored $field:ident) => {
        $crate::forward_io::forward_io!(
            @@ poll_write_vectored $field (slices: &[std::io::IoSlice<'_>]) -> usize
        );
    };
    (@ poll_flush $field:ident) => {
        $crate::forward_io::forward_io!(@@ poll_flush $field () -> ());
    };
    (@ poll_shutdown $field:ident) => {
        $crate::forward_io::forward_io!(@@ poll_shutdown $field () -> ());
    };
    (@ is_write_vectored $field:ident) => {
        fn is_write_vectored(&self) -> bool {
            self.$field.is_write_vectored()
        }
    };
    (@@ $method:ident $field:ident ($($argument:ident: $type:ty)?) -> $result:ty) => {
        fn $method(
            mut self: std::pin::Pin<&mut Self>,
            cx: &mut std::task::Context<'_>
            $(, $argument: $type)?
        ) -> std::task::Poll<std::io::Result<$result>> {
            std::pin::Pin::new(&mut self.$field).$method(cx $(, $argument)?)
        }
    };
}

pub(crate) use forward_io;
