# https://github.com/unslothai/unsloth-zoo/pull/137
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Tokenizer:
    def __init__(self, words):
        self.vocab = {w: i for i, w in enumerate(words)}

    def add_tokens(self, new_tokens):
        for token in new_tokens:
            self.vocab.setdefault(token, len(self.vocab))

    def __len__(self):
        return len(self.vocab)


class CausalLM(nn.Module):
    def __init__(self, vocab_size, hidden_size=32):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, hidden_size)
        self.rnn = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.lm_head = nn.Linear(hidden_size, vocab_size, bias=False)

    def get_input_embeddings(self):
        return self.embed_tokens

    def get_output_embeddings(self):
        return self.lm_head

    def resize_token_embeddings(self, n):
        old_embed, old_head = self.embed_tokens.weight.data, self.lm_head.weight.data
        self.embed_tokens = nn.Embedding(n, old_embed.shape[1])
        self.lm_head = nn.Linear(old_head.shape[1], n, bias=False)
        self.embed_tokens.weight.data[:len(old_embed)] = old_embed
        self.lm_head.weight.data[:len(old_head)] = old_head

    def forward(self, input_ids):
        h, _ = self.rnn(self.embed_tokens(input_ids))
        return self.lm_head(h)


@torch.no_grad()
def mean_of_trained_tokens(model, eps=1e-16):
    embedding_matrix = model.get_input_embeddings().weight.clone()
    lm_head_matrix = model.get_output_embeddings().weight.clone()
    trained = torch.amax(embedding_matrix, axis=1) > eps
    return embedding_matrix[trained].mean(axis=0), lm_head_matrix[trained].mean(axis=0)


@torch.inference_mode()
def add_new_tokens(model, tokenizer, new_tokens=()):
    """
    Smartly resizes the tokenizer and adds new tokens to the model.
    We also disregard untrained tokens by removing them from the mean calculation.
    """
    assert len(new_tokens) > 0
    overlapping_tokens = set(new_tokens) & set(tokenizer.vocab.keys())
    new_tokens = [x for x in new_tokens if x not in overlapping_tokens]

    mean_embedding, mean_lm_head = mean_of_trained_tokens(model)
    old_length = len(tokenizer)
    tokenizer.add_tokens(new_tokens)
    # Also resizes lm_head as well!
    model.resize_token_embeddings(len(tokenizer))

    embedding_matrix = model.get_input_embeddings().weight
    lm_head_matrix = model.get_output_embeddings().weight
    if embedding_matrix.shape[0] != old_length + len(new_tokens):
        raise RuntimeError("Embedding matrix size did not get resized properly.")

    # Now set the new tokens to the mean!
    embedding_matrix[old_length:] = mean_embedding
    lm_head_matrix[old_length:] = mean_lm_head


# %%
tokenizer = Tokenizer("the a cat dog sat ran on mat road and".split())
model = CausalLM(len(tokenizer))
new_tokens = [f"<NEW_TOKEN_{i}>" for i in range(10)]
add_new_tokens(model, tokenizer, new_tokens=new_tokens)
print(len(tokenizer), model.lm_head.weight.shape, model.lm_head.weight.requires_grad)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

# %%
for step in range(3):
    input_ids = torch.randint(0, len(tokenizer), (4, 8))
    logits = model(input_ids)
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
