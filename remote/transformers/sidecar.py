"""Answers questions about a DeepSeek-V4 checkpoint with the model of the transformers library.

One JSON object a line comes in, one goes out, in the same order; stderr has what people read. The first request is "hello", which names the
directory and loads it. An answer with "error" says why there is no other. The process ends when its input does, whatever it is doing.
"""

import contextlib
import hashlib
import json
import os
import queue
import sys
import threading

LONGEST = 1 << 28  # bytes of a request
ROWS = 256  # of logits that are widened at a time


class Refused(Exception):
    """A request that can't be answered, in words meant for whoever asked."""


def named(values, most=3):
    """The first few of values, and how many more there are."""
    values = [str(v) for v in values]
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(values[:most]) + more


class Model:
    """A loaded checkpoint."""

    def __init__(self, options):
        directory, self.dtype = options["dir"], options["dtype"]
        raw = read_config(directory)
        torch = import_libraries()
        settle(torch, options["threads"])
        self.torch, self.digest = torch, hashlib.sha256(raw).hexdigest()
        self.model = load(torch, directory, self.dtype)
        self.config = self.model.config

    def hello(self):
        import safetensors
        import transformers

        c = self.config
        return {
            "versions": {
                "python": sys.version.split()[0],
                "torch": self.torch.__version__,
                "transformers": transformers.__version__,
                "safetensors": safetensors.__version__,
            },
            "config_sha256": self.digest,
            "dtype": self.dtype,
            "threads": self.torch.get_num_threads(),
            "vocab": c.vocab_size,
            "hidden": c.hidden_size,
            "layers": c.num_hidden_layers,
            "streams": c.hc_mult,
            "heads": c.num_attention_heads,
            "head_dim": c.head_dim,
            "experts": c.n_routed_experts,
            "experts_per_token": c.num_experts_per_tok,
            "max_positions": c.max_position_embeddings,
        }

    def score(self, request):
        """Logprobs of every token after the first, the best token and the entropy at each of those places."""
        temperature = request["temperature"]
        sequences = [self.sequence(f"sequence {i}", ids) for i, ids in enumerate(request.get("sequences", []))]
        return {"scores": [self.score_one(i, ids, temperature) for i, ids in enumerate(sequences)]}

    def score_one(self, i, ids, temperature):
        torch = self.torch
        out = {"logprobs": [], "top": [], "entropy": []}
        if ids.shape[1] == 1:
            return out
        logits, asked = self.run(ids)[0, :-1], ids[0, 1:]
        for at in range(0, len(asked), ROWS):
            rows = logits[at : at + ROWS].double()
            lp = torch.log_softmax(rows / temperature, dim=-1)
            if not torch.isfinite(lp).all():
                bad = at + int(torch.where(~torch.isfinite(lp).all(dim=-1))[0][0])
                raise Refused(f"sequence {i}: logits of token {bad} are not all finite")
            out["logprobs"] += lp.gather(1, asked[at : at + ROWS, None])[:, 0].tolist()
            out["top"] += rows.argmax(dim=-1).tolist()
            out["entropy"] += (-(lp.exp() * lp).sum(dim=-1)).tolist()
        return out

    def taps(self, request):
        """Intermediate results of one sequence, as a file that is there whole or not at all."""
        from safetensors.torch import save_file

        ids, path = self.sequence("ids", request.get("ids")), request["path"]
        with contextlib.ExitStack() as undo:
            tap = Taps(self, set(request.get("only", [])), ids.shape[1], undo)
            tap.hook()
            self.run(ids)
        for asked in sorted(tap.only):
            if not any(called(name, asked) for name in tap.named):
                raise Refused(f"taps: the model shows nothing called {asked}")
        save_file(tap.named, path + ".part")
        os.replace(path + ".part", path)
        return {"path": path, "names": sorted(tap.named)}

    def sequence(self, name, ids):
        """Token ids as [1, T], if the model can run them."""
        if not ids:
            raise Refused(f"{name} is empty, want at least one token")
        if len(ids) > self.config.max_position_embeddings:
            raise Refused(f"{name} has {len(ids)} tokens, want at most {self.config.max_position_embeddings} (max_position_embeddings)")
        for at, token in enumerate(ids):
            if not 0 <= token < self.config.vocab_size:
                raise Refused(f"{name}: token {at} is {token}, want 0 to {self.config.vocab_size - 1}")
        return self.torch.tensor([ids], dtype=self.torch.long)

    def run(self, ids):
        """Logits [1, T, V] of one sequence, without a cache and without padding."""
        with self.torch.no_grad(), widened(self.torch, self.dtype):
            return self.model(input_ids=ids, use_cache=False).logits


class Taps:
    """Named results of one pass, by hooks on the library's modules. Rows are tokens; the axis of sequences is dropped."""

    def __init__(self, model, only, tokens, undo):
        self.torch, self.model, self.config = model.torch, model.model, model.config
        self.wide = self.torch.float64 if model.dtype == "float64" else self.torch.float32
        self.only, self.tokens, self.named, self.undo = only, tokens, {}, undo
        self.part = {}  # left halves of what two modules make together
        self.places = {}  # attention modules to the beginnings of their names
        self.products = None  # (input, output) of matrix products while experts run
        self.source = sys.modules[type(self.model).__module__]
        self.attention = self.source.eager_attention_forward

    def hook(self):
        """Hangs itself into the model until undo is closed."""
        top = self.model.model
        self.before(top.layers[0], lambda x: self.keep("embed", x[0]))
        for i, layer in enumerate(top.layers):
            self.layer(f"L{i}.", layer)
        self.after(top.hc_head, lambda y: self.keep("hc_head", y[0]))
        self.after(top.norm, lambda y: self.keep("final_norm", y[0]))
        self.after(self.model.lm_head, lambda y: self.keep("logits", y[0]))
        self.undo.callback(setattr, self.source, "eager_attention_forward", self.attention)
        self.source.eager_attention_forward = self.attend
        self.undo.enter_context(watching(self.torch, self))

    def keep(self, name, x, width=None):
        """Records x [T, ...] under a name; width flattens what follows the first axis."""
        if self.only and not any(called(name, o) for o in self.only):
            return
        to = self.torch.int32 if not x.is_floating_point() else self.wide
        x = x.reshape(x.shape[0], width) if width else x
        self.named[name] = x.detach().to(to, copy=True).contiguous()

    def after(self, module, see):
        self.undo.callback(module.register_forward_hook(lambda m, args, out: see(out)).remove)

    def before(self, module, see):
        self.undo.callback(module.register_forward_pre_hook(lambda m, args: see(*args)).remove)

    def joined(self, name, left, right):
        """Records the outputs of two modules that read the same rows side by side."""
        self.after(left, lambda y: self.part.__setitem__(name, y[0]))
        self.after(right, lambda y: self.keep(name, self.torch.cat([self.part.pop(name), y[0]], dim=-1)))

    def layer(self, pre, layer):
        for name in ("attn_hc", "ffn_hc"):
            self.site(f"{pre}{name}.", getattr(layer, name))
        self.after(layer.input_layernorm, lambda y: self.keep(pre + "attn_in", y[0]))
        self.queries(pre, layer.self_attn)
        if layer.self_attn.compressor is not None:
            self.compressor(pre, layer.self_attn.compressor)
        self.after(layer.self_attn, lambda y: self.keep(pre + "attn_out", y[0][0]))
        self.before(layer.ffn_hc, lambda x: self.keep(pre + "attn_streams", x[0]))
        self.after(layer.post_attention_layernorm, lambda y: self.keep(pre + "mlp_in", y[0]))
        self.experts(pre, layer.mlp)
        self.after(layer.mlp, lambda y: self.keep(pre + "mlp_out", y[0]))
        self.after(layer, lambda y: self.keep(pre + "streams", y[0]))

    def site(self, pre, hyper):
        def see(out):
            for name, y in zip(("post", "comb", "collapsed"), out):
                self.keep(pre + name, y[0])

        self.after(hyper, see)

    def queries(self, pre, attn):
        self.places[attn] = pre
        wide = attn.num_heads * attn.head_dim
        self.after(attn.q_a_norm, lambda y: self.keep(pre + "q_latent", y[0]))
        self.after(attn.q_b_norm, lambda y: self.keep(pre + "q_normed", y[0].transpose(0, 1), wide))
        self.after(attn.kv_norm, lambda y: self.keep(pre + "kv_normed", y[0]))
        self.before(attn.o_a_proj, lambda x: self.keep(pre + "attn_turned", x[0], wide))
        self.before(attn.o_b_proj, lambda x: self.keep(pre + "attn_grouped", x[0]))

    def attend(self, module, query, key, *args, **kwargs):
        """Stands before the library's attention function: what goes in is turned, what comes out is not turned back yet."""
        out = self.attention(module, query, key, *args, **kwargs)
        pre, wide = self.places[module], module.num_heads * module.head_dim
        self.keep(pre + "q", query[0].transpose(0, 1), wide)
        self.keep(pre + "kv", key[0, 0, : self.tokens])
        self.keep(pre + "attn_mix", out[0][0], wide)
        return out

    def compressor(self, pre, comp):
        self.windows(pre + "compress_raw", pre + "compress_pooled", comp)
        self.after(comp, lambda y: self.keep(pre + "compressed_kv", y[0][0, 0]))
        if hasattr(comp, "indexer"):
            self.indexer(pre, comp.indexer)

    def windows(self, raw, pooled, comp):
        """What a compressor makes of tokens, and of windows before their norm; where none is closed no norm is called."""
        self.joined(raw, comp.kv_proj, comp.gate_proj)
        self.before(comp.kv_norm, lambda x: self.keep(pooled, x[0]))
        if self.tokens < comp.compress_rate:
            self.keep(pooled, self.torch.zeros(0, comp.head_dim))

    def indexer(self, pre, index):
        wide = index.num_heads * index.head_dim

        def scored(q, keys, _):
            self.keep(pre + "index_q", q[0], wide)
            self.keep(pre + "index_keys", keys[0])

        self.windows(pre + "index_raw", pre + "index_pooled", index)
        self.before(index.scorer, scored)
        self.after(index.scorer.weights_proj, lambda y: self.keep(pre + "index_weights", y[0]))
        self.after(index, lambda y: self.keep(pre + "index_topk", self.ascending(y[0], index.index_topk)))

    def ascending(self, chosen, k):
        """Entry numbers [T, at most k] in ascending order, then -1 up to k."""
        none = self.torch.iinfo(chosen.dtype).max
        chosen = self.torch.where(chosen < 0, none, chosen).sort(dim=-1).values
        chosen = self.torch.where(chosen == none, -1, chosen)
        return self.torch.nn.functional.pad(chosen, (0, k - chosen.shape[-1]), value=-1)

    def experts(self, pre, mlp):
        def routed(out):
            logits, weights, indices = out
            order = indices.argsort(dim=-1, stable=True)
            self.keep(pre + "router_logits", logits)
            self.keep(pre + "router_indices", indices.gather(1, order))
            self.keep(pre + "router_weights", weights.gather(1, order))

        self.after(mlp.gate, routed)
        self.before(mlp.experts, lambda *_: setattr(self, "products", []))
        self.undo.callback(mlp.experts.register_forward_hook(lambda m, args, out: self.slots(pre, *args[1:])).remove)
        shared = mlp.shared_experts
        self.joined(pre + "shared_gate_up", shared.gate_proj, shared.up_proj)
        self.before(shared.down_proj, lambda x: self.keep(pre + "shared_mid", x[0]))
        self.after(shared, lambda y: self.keep(pre + "shared_out", y[0]))

    def slots(self, pre, indices, weights):
        """Records what the chosen experts made, [T, k, ...], from the products that the library's loop over experts called: two an expert,
        experts ascending, rows by slot and then by token."""
        products, self.products = self.products, None
        hit = indices.unique().tolist()
        if len(products) != 2 * len(hit):
            raise Refused(f"{pre}mlp.experts made {len(products)} products for {len(hit)} experts, want two each; this is not the library's eager loop")
        order = indices.argsort(dim=-1, stable=True)
        weights = weights.gather(1, order)
        made = {"expert_gate_up": [y for _, y in products[::2]], "expert_mid": [x for x, _ in products[1::2]], "expert_out": [y for _, y in products[1::2]]}
        for name, parts in made.items():
            whole = parts[0].new_empty(*indices.shape, parts[0].shape[-1])
            for e, rows in zip(hit, parts):
                slot, token = self.torch.where(indices.T == e)
                whole[token, slot] = rows
            whole = whole.gather(1, order[..., None].expand_as(whole))
            self.keep(pre + name, whole if name == "expert_gate_up" else whole * weights[..., None])


def called(name, asked):
    """Whether a result is one of those asked for: L3.streams is, by that name and as streams."""
    return name == asked or name.endswith("." + asked)


def watching(torch, taps):
    """Shows taps the matrix products inside a module, which have no module of their own."""

    class Watching(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            if taps.products is not None and func is torch.nn.functional.linear:
                taps.products.append((args[0], out))
            return out

    return Watching()


def read_config(directory):
    """The bytes of a configuration that this side-car can run."""
    path = os.path.join(directory, "config.json")
    if not os.path.isdir(directory):
        raise Refused(f"{directory}: no such directory")
    try:
        with open(path, "rb") as f:
            raw = f.read()
        config = json.loads(raw)
    except (OSError, ValueError) as e:
        raise Refused(f"{path}: {e}") from e
    if not isinstance(config, dict) or config.get("model_type") != "deepseek_v4":
        seen = config.get("model_type") if isinstance(config, dict) else None
        raise Refused(f'{path}: model_type is {json.dumps(seen)}, want "deepseek_v4"')
    if config.get("quantization_config"):
        raise Refused(f"{path}: has a quantization_config; convert the checkpoint to bfloat16 or float32 first")
    return raw


def import_libraries():
    """Imports what is needed, never looking for anything beyond this machine's disk."""
    os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    missing = []
    for name in ("torch", "transformers", "safetensors"):
        try:
            __import__(name)
        except ModuleNotFoundError as e:
            if e.name != name:
                raise
            missing.append(name)
    if missing:
        raise Missing(missing)
    import torch

    return torch


class Missing(Exception):
    """Libraries that this interpreter does not have."""


def settle(torch, threads):
    """Fixes what could make two runs differ."""
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("highest")
    torch.manual_seed(0)


def load(torch, directory, dtype):
    """The library's model with every weight of the directory in its place, or a refusal."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    kind = getattr(transformers, "DeepseekV4ForCausalLM", None)
    if kind is None:
        raise Refused(f"transformers {transformers.__version__} has no DeepseekV4ForCausalLM")
    held = torch.bfloat16 if dtype == "bfloat16" else torch.float32
    model, info = kind.from_pretrained(
        directory,
        dtype=held,
        attn_implementation="eager",
        experts_implementation="eager",
        local_files_only=True,
        use_safetensors=True,
        ignore_mismatched_sizes=True,
        output_loading_info=True,
    )
    refuse_gaps(directory, info)
    if dtype == "bfloat16":
        round_norms(model)
    return (model.double() if dtype == "float64" else model).eval()


def round_norms(model):
    """Has norms return the format of their rows. The library keeps their weights wide, and so their results, which its bfloat16 matrices don't take."""
    for module in model.modules():
        if type(module).__name__ == "DeepseekV4RMSNorm":
            module.register_forward_hook(lambda m, args, out: out.to(args[0].dtype))


def refuse_gaps(directory, info):
    """Refuses a checkpoint of which the library would have invented or dropped something."""
    wrong = {
        "has other shapes than config.json says for": [f"{n} ({list(a)}, want {list(b)})" for n, a, b in sorted(info["mismatched_keys"])],
        "lacks": sorted(info["missing_keys"]),
        "has what the model has not": sorted(info["unexpected_keys"]),
        "could not be read": info.get("error_msgs") or [],
    }
    said = [f"{what}: {named(names)}" for what, names in wrong.items() if names]
    if said:
        raise Refused(f"{directory}: " + "; ".join(said))


def widened(torch, dtype):
    """Under float64 the library's own steps down to float32 are kept from happening; otherwise nothing is."""
    if dtype != "float64":
        return contextlib.nullcontext()

    class Widened(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            def wide(v):
                return torch.float64 if v is torch.float32 else v

            if func is torch.Tensor.float:
                return args[0].double()
            return func(*map(wide, args), **{k: wide(v) for k, v in (kwargs or {}).items()})

    return Widened()


def lines():
    """Requests as they come. Their end ends the process, even in the middle of a pass."""
    asked = queue.Queue()

    def read():
        while True:
            line = sys.stdin.buffer.readline(LONGEST)
            if not line.endswith(b"\n"):
                os._exit(0)
            asked.put(line)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield asked.get()


class Session:
    """The questions of one caller."""

    def __init__(self):
        self.model = None

    def answer(self, request):
        op = request["op"]
        if op == "quit":
            os._exit(0)  # the reader of requests holds stdin, which an ordinary end would wait for
        if op == "hello":
            self.model = self.model or Model(request)
            return self.model.hello()
        if op not in ("score", "taps"):
            raise Refused(f"op is {json.dumps(op)}, want hello, score, taps or quit")
        if self.model is None:
            raise Refused(f"{op} came before hello")
        return getattr(self.model, op)(request)

    def safely(self, line):
        """The line that answers a line, or says why nothing else does."""
        try:
            return json.dumps(self.answer(json.loads(line)), allow_nan=False)
        except Missing as e:
            return json.dumps({"error": "missing " + ", ".join(e.args[0]), "missing": e.args[0]})
        except Refused as e:
            return json.dumps({"error": str(e)})
        except BaseException as e:
            import traceback

            traceback.print_exc()
            return json.dumps({"error": "".join(traceback.format_exception_only(e)).strip().splitlines()[-1]})


def main():
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever libraries print is for people
    session = Session()
    for line in lines():
        out.write(session.safely(line) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
