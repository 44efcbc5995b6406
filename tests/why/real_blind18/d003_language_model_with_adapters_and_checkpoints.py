# https://github.com/huggingface/transformers/issues/25841
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class LoraConfig:
    def __init__(self, r=8, lora_alpha=32, lora_dropout=0.1, target_modules=("query_key_value",)):
        self.r, self.lora_alpha, self.lora_dropout = r, lora_alpha, lora_dropout
        self.target_modules = target_modules


class LoraLinear(nn.Module):
    def __init__(self, base_layer, config):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, config.r, bias=False)
        self.lora_B = nn.Linear(config.r, base_layer.out_features, bias=False)
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)
        self.lora_dropout = nn.Dropout(config.lora_dropout)
        self.scaling = config.lora_alpha / config.r

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(self.lora_dropout(x))) * self.scaling


class GPTNeoXLayer(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.input_layernorm = nn.LayerNorm(hidden_size)
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size)
        self.mlp = nn.Sequential(nn.Linear(hidden_size, 4 * hidden_size), nn.GELU(),
                                 nn.Linear(4 * hidden_size, hidden_size))

    def forward(self, hidden_states):
        q, k, v = self.query_key_value(self.input_layernorm(hidden_states)).chunk(3, dim=-1)
        attn = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return hidden_states + attn + self.mlp(self.input_layernorm(hidden_states))


class GPTNeoXForCausalLM(nn.Module):
    def __init__(self, vocab_size=100, hidden_size=32, num_hidden_layers=3):
        super().__init__()
        self.embed_in = nn.Embedding(vocab_size, hidden_size)
        self.layers = nn.ModuleList([GPTNeoXLayer(hidden_size) for _ in range(num_hidden_layers)])
        self.embed_out = nn.Linear(hidden_size, vocab_size, bias=False)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embed_in

    def add_adapter(self, config):
        for param in self.parameters():
            param.requires_grad = False
        for layer in self.layers:
            for name in config.target_modules:
                setattr(layer, name, LoraLinear(getattr(layer, name), config))

    def gradient_checkpointing_enable(self):
        self.gradient_checkpointing = True

    def forward(self, input_ids, labels=None):
        hidden_states = self.embed_in(input_ids)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                hidden_states = checkpoint(layer, hidden_states, use_reentrant=True)
            else:
                hidden_states = layer(hidden_states)
        logits = self.embed_out(hidden_states)
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return loss, logits


class CustomModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = GPTNeoXForCausalLM()
        self.peft_config = LoraConfig(r=8, lora_alpha=32, lora_dropout=0.1)
        self.model.add_adapter(self.peft_config)
        self.model.gradient_checkpointing_enable()

    def forward(self, input_ids, labels):
        return self.model(input_ids, labels=labels)


# %%
model = CustomModel()
trainable = [p for p in model.parameters() if p.requires_grad]
print(len(trainable), sum(p.numel() for p in trainable))
optimizer = torch.optim.AdamW(trainable, lr=1e-3)
model.train()

# %%
for step in range(3):
    input_ids = torch.randint(0, 100, (2, 12))
    loss, logits = model(input_ids, labels=input_ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
