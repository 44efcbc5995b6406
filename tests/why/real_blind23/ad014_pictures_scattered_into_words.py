# https://github.com/OpenBMB/MiniCPM-V/issues/527
import re

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r=4, lora_alpha=8):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)
        self.scaling = lora_alpha / r

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(x)) * self.scaling


class DecoderLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x):
        h = self.norm(x)
        attn = F.scaled_dot_product_attention(self.q_proj(h), self.k_proj(h), self.v_proj(h), is_causal=True)
        return x + self.o_proj(attn)


class LLM(nn.Module):
    def __init__(self, vocab, dim, n_layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([DecoderLayer(dim) for _ in range(n_layers)])
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, inputs_embeds):
        for layer in self.layers:
            inputs_embeds = layer(inputs_embeds)
        return self.lm_head(inputs_embeds)


class MiniCPMV(nn.Module):
    def __init__(self, vocab=60, dim=16, query_num=4):
        super().__init__()
        self.llm = LLM(vocab, dim)
        self.vpm = nn.Conv2d(3, dim, 8, 8)
        self.resampler = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.query = nn.Parameter(torch.randn(query_num, dim))

    def enable_input_require_grads(self):
        def make_inputs_require_grads(module, input, output):
            output.requires_grad_(True)

        self._require_grads_hook = self.llm.embed_tokens.register_forward_hook(make_inputs_require_grads)

    def get_vllm_embedding(self, data):
        feats = self.vpm(data['pixel_values']).flatten(2).transpose(1, 2)
        vision_hidden_states = self.resampler(self.query.expand(len(feats), -1, -1), feats, feats)[0]
        vllm_embedding = self.llm.embed_tokens(data['input_ids'])

        bs = len(data['input_ids'])
        for i in range(bs):
            cur_vs_hs = vision_hidden_states[i]
            cur_vllm_emb = vllm_embedding[i]
            cur_image_bound = data['image_bound'][i]
            if len(cur_image_bound) > 0:
                image_indices = torch.stack([torch.arange(r[0], r[1], dtype=torch.long) for r in cur_image_bound])
                cur_vllm_emb.scatter_(0, image_indices.view(-1, 1).repeat(1, cur_vllm_emb.shape[-1]),
                                      cur_vs_hs.view(-1, cur_vs_hs.shape[-1]))
        return vllm_embedding

    def forward(self, data):
        logits = self.llm(self.get_vllm_embedding(data))
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), data['labels'][:, 1:].flatten(), ignore_index=-100)


def get_peft_model(model, target_modules):
    model.requires_grad_(False)
    for name, module in list(model.named_modules()):
        if re.match(target_modules, name):
            parent = model.get_submodule(name.rpartition('.')[0])
            setattr(parent, name.rpartition('.')[2], LoraLinear(module))
    return model


# %%
model = get_peft_model(MiniCPMV(), r"llm\..*layers\.\d+\.(q_proj|k_proj|v_proj|o_proj)$")
model.enable_input_require_grads()
print([n for n, p in model.named_parameters() if p.requires_grad][:2])
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
input_ids = torch.randint(0, 60, (2, 12))
labels = input_ids.clone()
labels[:, :6] = -100
data = {'input_ids': input_ids, 'labels': labels, 'pixel_values': torch.rand(2, 3, 32, 32),
        'image_bound': [torch.tensor([[1, 5]]), torch.tensor([[2, 6]])]}

# %%
for step in range(3):
    loss = model(data)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
