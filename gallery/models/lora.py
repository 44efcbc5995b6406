# LoRA through peft: a frozen Llama with gradient checkpointing, adapters in q_proj and v_proj
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=256,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=6,
    num_attention_heads=4,
    num_key_value_heads=2,
)
base = LlamaForCausalLM(config)
base.activation_checkpointing_enable()
base.enable_input_require_grads()
adapters = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
model = get_peft_model(base, adapters)
model.train()
opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-3)
ids = torch.randint(256, (2, 16))
# %% the recorded cell
opt.zero_grad()
output = model(input_ids=ids, labels=ids)
loss = output.loss
loss.backward()
opt.step()
