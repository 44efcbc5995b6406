# https://github.com/huggingface/transformers/pull/35898
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class DebertaConfig:
    vocab_size, type_vocab_size, max_position_embeddings = 200, 2, 64

    def __init__(self, hidden_size=32, num_hidden_layers=5, num_attention_heads=4, intermediate_size=37):
        self.hidden_size, self.num_hidden_layers = hidden_size, num_hidden_layers
        self.num_attention_heads, self.intermediate_size = num_attention_heads, intermediate_size


class DebertaEmbeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=0)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("position_ids", torch.arange(config.max_position_embeddings).expand((1, -1)))

    def forward(self, input_ids, token_type_ids, mask):
        position_ids = self.position_ids[:, :input_ids.size(1)]
        inputs_embeds = self.word_embeddings(input_ids)
        position_embeddings = self.position_embeddings(position_ids)

        embeddings = inputs_embeds
        embeddings += position_embeddings
        token_type_embeddings = self.token_type_embeddings(token_type_ids)
        embeddings += token_type_embeddings

        embeddings = self.LayerNorm(embeddings)
        embeddings = embeddings * mask.unsqueeze(2).to(embeddings.dtype)
        return self.dropout(embeddings)


class DebertaLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.in_proj = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size)
        self.intermediate = nn.Linear(config.hidden_size, config.intermediate_size)
        self.output = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, x, mask):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.in_proj(x).chunk(3, dim=-1))
        x = x + F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None]).transpose(1, 2).flatten(2)
        return self.norm(x + self.output(F.gelu(self.intermediate(x))))


class DebertaForSequenceClassification(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embeddings = DebertaEmbeddings(config)
        self.layer = nn.ModuleList([DebertaLayer(config) for _ in range(config.num_hidden_layers)])
        self.classifier = nn.Linear(config.hidden_size, 2)

    def enable_input_require_grads(self):
        def make_inputs_require_grads(module, input, output):
            output.requires_grad_(True)

        self.embeddings.word_embeddings.register_forward_hook(make_inputs_require_grads)

    def forward(self, input_ids, attention_mask, token_type_ids, labels):
        hidden_states = self.embeddings(input_ids, token_type_ids, attention_mask)
        for layer_module in self.layer:
            hidden_states = checkpoint(layer_module, hidden_states, attention_mask, use_reentrant=True)
        logits = self.classifier(hidden_states[:, 0])
        return F.cross_entropy(logits, labels), logits


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r, lora_alpha, lora_dropout):
        super().__init__()
        self.base_layer, self.scaling = base_layer, lora_alpha / r
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)
        self.lora_dropout = nn.Dropout(lora_dropout)

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(self.lora_dropout(x))) * self.scaling


# %%
config = DebertaConfig()
model = DebertaForSequenceClassification(config)
for param in model.parameters():
    param.requires_grad = False
for layer in model.layer:
    layer.in_proj = LoraLinear(layer.in_proj, r=8, lora_alpha=32, lora_dropout=0.1)
model.classifier.requires_grad_(True)
model.train()
model.enable_input_require_grads()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

# %%
input_ids = torch.randint(1, 200, (2, 10))
attention_mask, token_type_ids = torch.ones(2, 10, dtype=torch.bool), torch.zeros(2, 10, dtype=torch.long)
loss, logits = model(input_ids, attention_mask, token_type_ids, labels=torch.tensor([0, 1]))
loss.backward()
optimizer.step()
print(loss.item(), logits.shape)
