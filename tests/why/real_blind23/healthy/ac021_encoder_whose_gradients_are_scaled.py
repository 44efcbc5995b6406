# https://github.com/facebookresearch/fairseq/issues/13
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GradMultiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        res = x.new(x)
        return res

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.scale, None


def grad_multiply(x, scale):
    return GradMultiply.apply(x, scale)


class Encoder(nn.Module):
    def __init__(self, vocab, embed_dim=24, layers=2, num_attention_layers=2):
        super(Encoder, self).__init__()
        self.num_attention_layers = num_attention_layers
        self.embed_tokens, self.embed_positions = nn.Embedding(vocab, embed_dim), nn.Embedding(20, embed_dim)
        self.convolutions = nn.ModuleList([nn.Conv1d(embed_dim, 2 * embed_dim, 3, padding=1) for _ in range(layers)])

    def forward(self, tokens):
        input_embedding = self.embed_tokens(tokens) + self.embed_positions(torch.arange(tokens.shape[1]))
        x = input_embedding.transpose(1, 2)
        for conv in self.convolutions:
            x = (F.glu(conv(x), dim=1) + x) * 0.5 ** 0.5
        x = x.transpose(1, 2)
        x = grad_multiply(x, 1.0 / (2.0 * self.num_attention_layers))
        y = (x + input_embedding) * 0.5 ** 0.5
        return x, y


class AttentionLayer(nn.Module):
    def __init__(self, dim):
        super(AttentionLayer, self).__init__()
        self.in_projection, self.out_projection = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x, target_embedding, encoder_out):
        residual = x
        x = (self.in_projection(x) + target_embedding) * 0.5 ** 0.5
        attn_scores = F.softmax(torch.bmm(x, encoder_out[0].transpose(1, 2)), dim=-1)
        x = torch.bmm(attn_scores, encoder_out[1])
        return (self.out_projection(x) + residual) * 0.5 ** 0.5


class Decoder(nn.Module):
    def __init__(self, vocab, embed_dim=24, layers=2):
        super(Decoder, self).__init__()
        self.embed_tokens, self.embed_positions = nn.Embedding(vocab, embed_dim), nn.Embedding(20, embed_dim)
        self.convolutions = nn.ModuleList([nn.Conv1d(embed_dim, 2 * embed_dim, 3) for _ in range(layers)])
        self.attention = nn.ModuleList([AttentionLayer(embed_dim) for _ in range(layers)])
        self.fc = nn.Linear(embed_dim, vocab)

    def forward(self, prev_output_tokens, encoder_out):
        target_embedding = self.embed_tokens(prev_output_tokens)
        target_embedding = target_embedding + self.embed_positions(torch.arange(prev_output_tokens.shape[1]))
        x = target_embedding
        for conv, attention in zip(self.convolutions, self.attention):
            residual = x
            x = F.glu(conv(F.pad(x.transpose(1, 2), (2, 0))), dim=1).transpose(1, 2)
            x = (attention(x, target_embedding, encoder_out) + residual) * 0.5 ** 0.5
        return self.fc(x)


# %%
tokens = torch.randint(1, 10, (256, 6))
target = (tokens.flip(1) + 3) % 9 + 1
prev_output_tokens = F.pad(target[:, :-1], (1, 0))
encoder, decoder = Encoder(10), Decoder(10)
parameters = [*encoder.parameters(), *decoder.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.25, momentum=0.99, nesterov=True)

# %%
losses = []
for epoch in range(15):
    for batch in torch.randperm(256).split(32):
        optimizer.zero_grad()
        net_output = decoder(prev_output_tokens[batch], encoder(tokens[batch]))
        loss = F.cross_entropy(net_output.flatten(0, 1), target[batch].flatten(), reduction="sum")
        loss.backward()
        for p in parameters:
            p.grad.div_(target[batch].numel())
        grad_norm = torch.nn.utils.clip_grad_norm_(parameters, 0.1)
        optimizer.step()
        losses.append(loss.item() / target[batch].numel())
print(losses[0], losses[-1], grad_norm.item())
