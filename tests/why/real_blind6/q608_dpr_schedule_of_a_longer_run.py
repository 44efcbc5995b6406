# https://github.com/facebookresearch/DPR/issues/99
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BiEncoder(nn.Module):
    def __init__(self, vocab=60, dim=16):
        super().__init__()
        self.question_model = nn.EmbeddingBag(vocab, dim)
        self.ctx_model = nn.EmbeddingBag(vocab, dim)

    def forward(self, q_ids, ctx_ids):
        return self.question_model(q_ids), self.ctx_model(ctx_ids)


def get_schedule_linear(optimizer, warmup_steps, total_training_steps):
    def lr_lambda(current_step):
        if current_step < warmup_steps:
            return float(current_step) / float(max(1, warmup_steps))
        return max(0.0, float(total_training_steps - current_step) / float(max(1, total_training_steps - warmup_steps)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda)


# the checkpoint of the long run on nq
old = BiEncoder()
old_scheduler = get_schedule_linear(torch.optim.AdamW(old.parameters(), lr=2e-3), 20, 1000)
old_scheduler.last_epoch = 500
saved_state = {'model_dict': old.state_dict(), 'scheduler_dict': old_scheduler.state_dict()}

# %%
biencoder = BiEncoder()
biencoder.load_state_dict(saved_state['model_dict'])
optimizer = torch.optim.AdamW(biencoder.parameters(), lr=2e-3, weight_decay=0.0)
updates_per_epoch, num_train_epochs = 10, 4
scheduler = get_schedule_linear(optimizer, 4, updates_per_epoch * num_train_epochs)
scheduler.load_state_dict(saved_state['scheduler_dict'])
before = biencoder.question_model.weight.detach().clone()

# %%
biencoder.train()
for epoch in range(2):
    for i in range(updates_per_epoch):
        q_ids, ctx_ids = torch.randint(0, 60, (8, 5)), torch.randint(0, 60, (8, 12))
        q_vectors, ctx_vectors = biencoder(q_ids, ctx_ids)
        scores = torch.matmul(q_vectors, ctx_vectors.t())
        loss = F.nll_loss(F.log_softmax(scores, dim=1), torch.arange(8))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(biencoder.parameters(), 2.0)
        optimizer.step()
        scheduler.step()
        biencoder.zero_grad()
    print(epoch, loss.item(), 'lr=%f' % optimizer.param_groups[0]['lr'])
