# https://github.com/facebookresearch/fairseq/issues/251
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
vocab, embed_dim = 20, 8


class FConvEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, embed_dim)
        self.fc1 = nn.Linear(embed_dim, embed_dim)
        self.conv = nn.Conv1d(embed_dim, embed_dim, 3, padding=1)

    def forward(self, src_tokens):
        x = torch.tanh(self.fc1(self.embed_tokens(src_tokens)))
        y = torch.sigmoid(self.conv(x.transpose(1, 2)))
        return y, x


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, embed_dim)
        self.gate = nn.Linear(embed_dim, embed_dim)
        self.out = nn.Linear(embed_dim, vocab)

    def do_something(self, column, state):
        return column * torch.sigmoid(self.gate(state))

    def forward(self, prev_output_tokens, encoder_out):
        x = self.embed_tokens(prev_output_tokens)
        outs = []
        for j in range(x.size(1)):
            scores = torch.softmax((encoder_out[0] * x[:, j].unsqueeze(2)).sum(1), dim=1)
            context = (encoder_out[0] * scores.unsqueeze(1)).sum(2)
            encoder_out[0][:, :, j] = self.do_something(encoder_out[0][:, :, j], context)
            outs.append(self.out(context))
        return torch.stack(outs, dim=1)


# %%
encoder, decoder = FConvEncoder(), Decoder()
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.25)
src = torch.randint(0, vocab, (4, 6))
tgt = torch.randint(0, vocab, (4, 6))

# %%
optimizer.zero_grad()
encoder_out = encoder(src)
logits = decoder(tgt.roll(1, 1), encoder_out)
loss = F.cross_entropy(logits.view(-1, vocab), tgt.view(-1))
loss.backward()
optimizer.step()
