# https://github.com/pytorch/translate/pull/391
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

vocab, dim, pad = 20, 16, 0


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim, padding_idx=pad)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, src_tokens):
        return self.rnn(self.embed_tokens(src_tokens))[1]


class Decoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, hidden, padding_idx=pad)
        self.bridge = nn.Linear(dim, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.output = nn.Linear(hidden, vocab)

    def forward(self, prev_output_tokens, encoder_out):
        x = self.embed_tokens(prev_output_tokens)
        return self.output(self.rnn(x, self.bridge(encoder_out))[0])


class DualDecoderKDModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.teacher_decoder = Decoder(hidden=32)
        self.student_decoder = Decoder(hidden=8)


def compute_teacher_loss(net_output, target, eps=0.1):
    lprobs = F.log_softmax(net_output, dim=-1)
    nll_loss = F.nll_loss(lprobs.view(-1, vocab), target.view(-1), ignore_index=pad)
    smooth_loss = -lprobs[target.ne(pad)].mean()
    return (1.0 - eps) * nll_loss + eps * smooth_loss, nll_loss, lprobs.exp()


def compute_kd_loss(net_output, target, teacher_probs):
    lprobs = F.log_softmax(net_output, dim=-1)
    kd_loss = (teacher_probs * -lprobs).sum(dim=-1)[target.ne(pad)]
    return kd_loss.mean()


# %%
model = DualDecoderKDModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for update in range(40):
    src_tokens = torch.randint(1, vocab, (16, 6))
    target = src_tokens.flip(1)
    prev_output_tokens = torch.cat([torch.ones(16, 1, dtype=torch.long), target[:, :-1]], dim=1)

    encoder_out = model.encoder(src_tokens)
    student_output = model.student_decoder(prev_output_tokens, encoder_out)
    teacher_output = model.teacher_decoder(prev_output_tokens, encoder_out)
    teacher_loss, teacher_nll_loss, teacher_probs = compute_teacher_loss(teacher_output, target)
    student_loss = compute_kd_loss(student_output, target, teacher_probs)
    total_loss = student_loss + teacher_loss

    of_teacher_loss, = torch.autograd.grad(
        teacher_loss, model.teacher_decoder.output.weight, retain_graph=True)
    optimizer.zero_grad()
    total_loss.backward()
    optimizer.step()
print(student_loss.item(), teacher_loss.item(), teacher_nll_loss.item())
