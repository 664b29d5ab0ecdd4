// Package router spreads requests over several servers of one policy, and stands where they did: same paths, same bodies, same statuses.
//
// A [Router] keeps a list of workers, `furlong serve` processes or SGLang servers, and asks each again and again for its health. A request goes to the
// healthy worker with the fewest requests outstanding; one with a routing key goes where its key lives, which moves only when that worker goes. If a
// worker can't take a request, or dies before it has answered a byte, another one gets it; once a byte has come nothing is done twice. What comes back is
// passed on as it comes, so streams stream and a client that leaves is known to the worker at once.
//
// Workers come and go by three generations of calls: POST and DELETE of /workers, /add_worker and /remove_worker, and flags. What concerns all workers (cache,
// abort, pause, loads) is asked of all; what would change one worker's weights or memory and leave the others is refused while there are several.
//
// Shapes: none.
// Units: load in requests outstanding; ties by bytes of their bodies.
// Errors: answers in JSON with a code, as the gateways that this one stands in for give them. Nothing is dropped in silence: see [Counts].
// Sources: the surface is that of sglang-router 0.2 and 0.3 and of the routers of RL frameworks; docs/router.md has the list.
package router
