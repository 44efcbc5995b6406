# https://github.com/2U1/Qwen-VL-Series-Finetune/issues/193
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r=4, lora_alpha=8):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)
        self.scaling, self.disabled = lora_alpha / r, False

    def forward(self, x):
        result = self.base_layer(x)
        if not self.disabled:
            result = result + self.lora_B(self.lora_A(x)) * self.scaling
        return result


class Block(nn.Module):
    def __init__(self, dim, causal):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))
        self.causal = causal

    def forward(self, hidden_states):
        q, k, v = self.qkv(self.norm1(hidden_states)).chunk(3, dim=-1)
        attn = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        hidden_states = hidden_states + self.proj(attn)
        return hidden_states + self.mlp(self.norm2(hidden_states))


class GradientCheckpointingStack(nn.Module):
    def __init__(self, dim, depth, causal):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim, causal) for _ in range(depth))
        self.gradient_checkpointing_kwargs = None

    def forward(self, hidden_states):
        for block in self.blocks:
            if self.gradient_checkpointing_kwargs is not None and self.training:
                hidden_states = checkpoint(block, hidden_states, **self.gradient_checkpointing_kwargs)
            else:
                hidden_states = block(hidden_states)
        return hidden_states


class QwenVL(nn.Module):
    def __init__(self, vocab=40, vision_dim=16, dim=24):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, vision_dim, 4, 4)
        self.visual = GradientCheckpointingStack(vision_dim, 2, causal=False)
        self.merger = nn.Linear(vision_dim, dim)
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.language_model = GradientCheckpointingStack(dim, 2, causal=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs):
        for stack in (self.visual, self.language_model):
            stack.gradient_checkpointing_kwargs = gradient_checkpointing_kwargs

    def enable_input_require_grads(self):
        self.embed_tokens.register_forward_hook(lambda module, args, output: output.requires_grad_(True))

    def log_probs(self, pixel_values, input_ids):
        image_embeds = self.merger(self.visual(self.patch_embed(pixel_values).flatten(2).transpose(1, 2)))
        hidden_states = self.language_model(torch.cat([image_embeds, self.embed_tokens(input_ids)], dim=1))
        logits = self.lm_head(hidden_states[:, image_embeds.shape[1]:-1])
        return logits.log_softmax(-1).gather(2, input_ids[:, 1:, None]).sum((1, 2))


def add_adapters(model):
    for stack in (model.visual, model.language_model):
        for block in stack.blocks:
            block.qkv, block.proj = LoraLinear(block.qkv), LoraLinear(block.proj)


# %%
model = QwenVL().requires_grad_(False)
model.merger.requires_grad_(True)
add_adapters(model)
model.gradient_checkpointing_enable({'use_reentrant': True})
model.enable_input_require_grads()
loras = [m for m in model.modules() if isinstance(m, LoraLinear)]
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)

# %%
chosen, rejected = torch.rand(4, 3, 16, 16), torch.rand(4, 3, 16, 16)
answer = torch.randint(0, 40, (4, 6))
for m in loras:
    m.disabled = True
with torch.no_grad():
    reference = model.log_probs(chosen, answer) - model.log_probs(rejected, answer)
for m in loras:
    m.disabled = False
for step in range(5):
    margin = model.log_probs(chosen, answer) - model.log_probs(rejected, answer)
    loss = -F.logsigmoid(0.1 * (margin - reference)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())

# %%
print(model.language_model.blocks[0].qkv.lora_B.weight.grad.norm())
print(model.visual.blocks[0].qkv.lora_B.weight.grad)
