# https://github.com/QwenLM/Qwen/issues/834
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

MODEL_FOR_CAUSAL_LM_MAPPING_NAMES = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM", "opt": "OPTForCausalLM"}


class LabelSmoother:
    def __init__(self, epsilon=0.1, ignore_index=-100):
        self.epsilon, self.ignore_index = epsilon, ignore_index

    def __call__(self, model_output, labels, shift_labels=False):
        logits = model_output["logits"]
        if shift_labels:
            logits = logits[..., :-1, :].contiguous()
            labels = labels[..., 1:].contiguous()

        log_probs = -F.log_softmax(logits, dim=-1)
        if labels.dim() == log_probs.dim() - 1:
            labels = labels.unsqueeze(-1)

        padding_mask = labels.eq(self.ignore_index)
        labels = torch.clamp(labels, min=0)
        nll_loss = log_probs.gather(dim=-1, index=labels)
        smoothed_loss = log_probs.sum(dim=-1, keepdim=True)
        nll_loss.masked_fill_(padding_mask, 0.0)
        smoothed_loss.masked_fill_(padding_mask, 0.0)

        num_active_elements = padding_mask.numel() - padding_mask.long().sum()
        nll_loss = nll_loss.sum() / num_active_elements
        smoothed_loss = smoothed_loss.sum() / (num_active_elements * log_probs.shape[-1])
        return (1 - self.epsilon) * nll_loss + self.epsilon * smoothed_loss


class QWenLMHeadModel(nn.Module):
    def __init__(self, vocab_size=24, hidden_size=32, num_layers=2):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, hidden_size)
        self.wpe = nn.Embedding(32, hidden_size)
        self.h = nn.ModuleList([nn.TransformerEncoderLayer(hidden_size, 4, 64, dropout=0.0, batch_first=True,
                                                           norm_first=True) for _ in range(num_layers)])
        self.ln_f = nn.LayerNorm(hidden_size)
        self.lm_head = nn.Linear(hidden_size, vocab_size, bias=False)

    def forward(self, input_ids, labels=None):
        n = input_ids.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        hidden_states = self.wte(input_ids) + self.wpe(torch.arange(n))
        for block in self.h:
            hidden_states = block(hidden_states, src_mask=mask)
        lm_logits = self.lm_head(self.ln_f(hidden_states))
        loss = None
        if labels is not None:
            loss = F.cross_entropy(lm_logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return {"loss": loss, "logits": lm_logits}


class Trainer:
    def __init__(self, model, label_smoothing_factor=0.0, learning_rate=3e-3):
        self.model = model
        self.label_smoother = LabelSmoother(epsilon=label_smoothing_factor) if label_smoothing_factor != 0 else None
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)

    def compute_loss(self, model, inputs):
        if self.label_smoother is not None and "labels" in inputs:
            labels = inputs.pop("labels")
        else:
            labels = None
        outputs = model(**inputs)
        if labels is not None:
            model_name = type(model).__name__
            if model_name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
                loss = self.label_smoother(outputs, labels, shift_labels=True)
            else:
                loss = self.label_smoother(outputs, labels)
        else:
            loss = outputs["loss"]
        return loss

    def training_step(self, inputs):
        self.model.train()
        loss = self.compute_loss(self.model, inputs)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


# %%
model = QWenLMHeadModel()
trainer = Trainer(model, label_smoothing_factor=0.1)


def get_batch(batch_size=16, length=12):
    start = torch.randint(0, 24, (batch_size, 1))
    return (start + 5 * torch.arange(length)) % 24


# %%
for step in range(250):
    input_ids = get_batch()
    train_loss = trainer.training_step({"input_ids": input_ids, "labels": input_ids.clone()})
    if step % 50 == 0:
        print(step, train_loss)

# %%
model.eval()
generated = get_batch(4, 3)
with torch.no_grad():
    for _ in range(6):
        next_token = model(generated)["logits"][:, -1].argmax(-1, keepdim=True)
        generated = torch.cat([generated, next_token], dim=1)
print(generated)
