# https://github.com/datawhalechina/self-llm/issues/172
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Qwen2DecoderLayer(nn.Module):
    def __init__(self, hidden_size, num_heads=4):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(hidden_size, hidden_size) for _ in range(4))
        self.up_proj, self.down_proj = nn.Linear(hidden_size, 2 * hidden_size), nn.Linear(2 * hidden_size, hidden_size)
        self.input_layernorm, self.post_attention_layernorm = nn.LayerNorm(hidden_size), nn.LayerNorm(hidden_size)

    def forward(self, hidden_states):
        b, n, d = hidden_states.shape
        x = self.input_layernorm(hidden_states)
        q, k, v = (p(x).view(b, n, self.num_heads, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        x = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, d)
        hidden_states = hidden_states + self.o_proj(x)
        x = self.post_attention_layernorm(hidden_states)
        return hidden_states + self.down_proj(F.silu(self.up_proj(x)))


class Qwen2ForCausalLM(nn.Module):
    def __init__(self, vocab_size=64, hidden_size=32, num_layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, hidden_size)
        self.layers = nn.ModuleList(Qwen2DecoderLayer(hidden_size) for _ in range(num_layers))
        self.lm_head = nn.Linear(hidden_size, vocab_size, bias=False)
        self.gradient_checkpointing = False

    def gradient_checkpointing_enable(self):
        self.gradient_checkpointing = True

    def enable_input_require_grads(self):
        def make_inputs_require_grads(module, input, output):
            output.requires_grad_(True)
        self.embed_tokens.register_forward_hook(make_inputs_require_grads)

    def forward(self, input_ids, labels=None):
        hidden_states = self.embed_tokens(input_ids)
        for decoder_layer in self.layers:
            if self.gradient_checkpointing and self.training:
                hidden_states = checkpoint(decoder_layer, hidden_states, use_reentrant=True)
            else:
                hidden_states = decoder_layer(hidden_states)
        logits = self.lm_head(hidden_states)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r, lora_alpha, lora_dropout):
        super().__init__()
        self.base_layer, self.scaling, self.dropout = base_layer, lora_alpha / r, nn.Dropout(lora_dropout)
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base_layer(x) + self.scaling * self.lora_B(self.lora_A(self.dropout(x)))


def get_peft_model(model, config):
    for param in model.parameters():
        param.requires_grad = False
    for layer in model.layers:
        for name in config['target_modules']:
            setattr(layer, name, LoraLinear(getattr(layer, name), config['r'], config['lora_alpha'], config['lora_dropout']))
    return model


config_lora = dict(target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "down_proj"],
                   r=8, lora_alpha=32, lora_dropout=0.1)
training_args = dict(per_device_train_batch_size=4, gradient_accumulation_steps=4, num_train_epochs=3,
                     learning_rate=1e-4, gradient_checkpointing=True)


class Qwen2trainer:
    """qwen2微调"""

    def __init__(self):
        self.tokenized_id = torch.randint(3, 64, (32, 12))
        base_model = Qwen2ForCausalLM()
        self.full_model = get_peft_model(base_model, config_lora)

    def train(self, args):
        model = self.full_model
        if args['gradient_checkpointing']:
            model.gradient_checkpointing_enable()
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args['learning_rate'])
        model.train()
        for epoch in range(args['num_train_epochs']):
            for step, input_ids in enumerate(self.tokenized_id.split(args['per_device_train_batch_size'])):
                labels = input_ids.clone()
                labels[:, :4] = -100
                loss = model(input_ids, labels=labels) / args['gradient_accumulation_steps']
                loss.backward()
                if (step + 1) % args['gradient_accumulation_steps'] == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            print(epoch, loss.item())


# %%
trainer = Qwen2trainer()

# %%
trainer.train(training_args)
