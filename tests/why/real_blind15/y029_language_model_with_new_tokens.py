# https://github.com/huggingface/transformers/pull/3519
import torch
import torch.nn as nn

torch.manual_seed(0)


class LMModel(nn.Module):
    def __init__(self, vocab_size, hidden=16):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.ln_f = nn.LayerNorm(hidden)

    def forward(self, input_ids, labels):
        hidden, _ = self.rnn(self.wte(input_ids))
        logits = self.ln_f(hidden) @ self.wte.weight.T
        return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())

    def resize_token_embeddings(self, new_num_tokens):
        old = self.wte
        new = nn.Embedding(new_num_tokens, old.embedding_dim)
        n = min(old.num_embeddings, new_num_tokens)
        new.weight.data[:n, :] = old.weight.data[:n, :]
        self.wte = new
        return new


class Tokenizer:
    def __init__(self, size, added=4):
        self.size, self.added = size, added

    def __len__(self):
        return self.size + self.added


def train(train_batches, model, tokenizer, learning_rate=5e-3):
    # prepare optimizer
    no_decay = ["bias", "ln_f.weight"]
    optimizer_grouped_parameters = [
        {"params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], "weight_decay": 0.01},
        {"params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(optimizer_grouped_parameters, lr=learning_rate)

    model.resize_token_embeddings(len(tokenizer))
    at_first = model.wte.weight.detach().clone()

    model.zero_grad()
    model.train()
    for step, batch in enumerate(train_batches):
        loss = model(batch, labels=batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        model.zero_grad()
    return loss, at_first


# %%
tokenizer = Tokenizer(20)
model = LMModel(20)
batches = [torch.randint(0, len(tokenizer), (8, 10)) for _ in range(25)]
loss, at_first = train(batches, model, tokenizer)
print(loss.item(), "embeddings moved by", (model.wte.weight - at_first).abs().max().item())
