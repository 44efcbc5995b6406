# https://github.com/facebookresearch/fairseq/issues/494
import contextlib
import os
import tempfile
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)
VOCAB, PAD = 14, 0


class TransformerModel(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed_tokens, self.embed_positions = nn.Embedding(VOCAB, dim, padding_idx=PAD), nn.Embedding(16, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.output_projection = nn.Linear(dim, VOCAB)

    def forward(self, src_tokens):
        x = self.embed_tokens(src_tokens) + self.embed_positions(torch.arange(src_tokens.size(1)))
        x = self.layer(x, src_key_padding_mask=src_tokens.eq(PAD))
        return self.output_projection(x)


class CrossEntropyCriterion(nn.Module):
    def forward(self, model, sample):
        lprobs = F.log_softmax(model(sample['net_input']), dim=-1)
        loss = F.nll_loss(lprobs.view(-1, VOCAB), sample['target'].view(-1), ignore_index=PAD, reduction='sum')
        return loss, sample['ntokens'], {'loss': loss.item(), 'ntokens': sample['ntokens']}


class FairseqOptimizer(object):
    def __init__(self, params, lr):
        self.params = list(params)
        self.optimizer = torch.optim.Adam(self.params, lr=lr, betas=(0.9, 0.98))

    def multiply_grads(self, c):
        for p in self.params:
            if p.grad is not None:
                p.grad.data.mul_(c)

    def clip_grad_norm(self, max_norm):
        return torch.nn.utils.clip_grad_norm_(self.params, max_norm)


class Trainer(object):
    def __init__(self, model, criterion, lr=3e-3, clip_norm=1.0):
        self.distributed_world_size, self.clip_norm = dist.get_world_size(), clip_norm
        self.model, self.criterion = DistributedDataParallel(model), criterion
        self.optimizer = FairseqOptimizer(model.parameters(), lr)

    def zero_grad(self):
        self.optimizer.optimizer.zero_grad()

    def backward_samples(self, samples):
        logging_outputs, sample_sizes = [], []
        for i, sample in enumerate(samples):
            maybe_no_sync = self.model.no_sync() if i < len(samples) - 1 else contextlib.nullcontext()
            with maybe_no_sync:
                loss, sample_size, logging_output = self.criterion(self.model, sample)
                loss.backward()
            logging_outputs.append(logging_output)
            sample_sizes.append(sample_size)
        # normalize grads by sample size
        self.optimizer.multiply_grads(self.distributed_world_size / float(sum(sample_sizes)))
        return logging_outputs

    def train_step(self, samples):
        self.model.train()
        self.zero_grad()
        logging_outputs = self.backward_samples(samples)
        grad_norm = self.optimizer.clip_grad_norm(self.clip_norm)
        self.optimizer.optimizer.step()
        return sum(log['loss'] for log in logging_outputs) / sum(log['ntokens'] for log in logging_outputs), grad_norm


def make_sample(n=12):
    lengths = torch.randint(3, 9, (n,))
    tokens = torch.randint(1, VOCAB, (n, 8))
    tokens = tokens.masked_fill(torch.arange(8) >= lengths.unsqueeze(1), PAD)
    target = torch.where(tokens == PAD, PAD, torch.cat([tokens[:, :1], tokens[:, :-1]], 1))
    return {'net_input': tokens, 'target': target, 'ntokens': int(lengths.sum())}


# %%
os.environ.setdefault('GLOO_SOCKET_IFNAME', 'lo')
store = tempfile.NamedTemporaryFile(delete=False)
dist.init_process_group('gloo', init_method='file://' + store.name, rank=0, world_size=1)
model = TransformerModel()
trainer = Trainer(model, CrossEntropyCriterion())
losses, update_freq = [], 3
for _ in range(130):
    loss, grad_norm = trainer.train_step([make_sample() for _ in range(update_freq)])
    losses.append(loss)

# %%
samples = [make_sample() for _ in range(update_freq)]
trainer.zero_grad()
trainer.backward_samples(samples)
at_once = {k: torch.cat([s[k] for s in samples]) for k in ('net_input', 'target')}
mean = F.cross_entropy(model(at_once['net_input']).view(-1, VOCAB), at_once['target'].view(-1), ignore_index=PAD)
by_mean = torch.autograd.grad(mean, list(model.parameters()))
error = max((p.grad - g).abs().max().item() for p, g in zip(model.parameters(), by_mean))
dist.destroy_process_group()
os.unlink(store.name)
print(losses[0], losses[-1], error, grad_norm)
assert error < 1e-4 and losses[-1] < 0.4 * losses[0]
