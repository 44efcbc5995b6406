# transformers' Mixtral: in each layer a router sends every token to two of eight experts
import torch
from transformers import MixtralConfig, MixtralForCausalLM

torch.manual_seed(0)
config = MixtralConfig(
    vocab_size=256,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=4,
    num_attention_heads=4,
    num_key_value_heads=2,
    num_local_experts=8,
    num_experts_per_tok=2,
    output_router_logits=True,
    router_aux_loss_coef=0.02,
)
model = MixtralForCausalLM(config)
model.train()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids = torch.randint(256, (2, 16))
# %% the recorded cell
opt.zero_grad()
output = model(input_ids=ids, labels=ids)
loss = output.loss
loss.backward()
opt.step()
