// Package door is where requests come in: the same address, encryption, limits and keys for all servers of ours.
//
// [Listen] takes an address, with TLS where there is a certificate, and [HTTP] returns a server with the limits that hold for every one. A [Door] is both, open
// before there is anything to answer with. [Keys] says who may ask for what, and [Loopback] whether other machines can ask at all.
//
// Shapes: none.
// Units: none; limits are constants of [HTTP].
// Errors: those of the address or the certificate, named. A key that is wrong is no error, it is not allowed.
// Sources: the gates of SGLang's servers: a key for all, and a second for what changes a server.
package door
