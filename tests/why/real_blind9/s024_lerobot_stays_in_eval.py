# https://github.com/huggingface/lerobot/issues/3668
import torch
from torch import nn

torch.manual_seed(0)


class ACTPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.dropout = nn.Dropout(0.1)
        self.action_head = nn.Linear(32, 4)

    def forward(self, batch):
        actions = self.action_head(self.dropout(self.backbone(batch["observation"])))
        l1_loss = (actions - batch["action"]).abs().mean()
        return l1_loss, {"l1_loss": l1_loss.item()}


def make_batch():
    observation = torch.randn(32, 12)
    return {"observation": observation, "action": observation[:, :4] * 2}


# %%
def eval_policy(policy, batches):
    policy.eval()
    with torch.no_grad():
        losses = [policy(batch)[0].item() for batch in batches]
    return sum(losses) / len(losses)


# %%
policy = ACTPolicy()
optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
eval_freq = 10
policy.train()
for step in range(1, 31):
    batch = make_batch()
    loss, output_dict = policy(batch)
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
    optimizer.step()
    optimizer.zero_grad()
    if step % eval_freq == 0 and step < 30:
        print(step, loss.item(), eval_policy(policy, [make_batch() for _ in range(2)]))
loss, output_dict = policy(make_batch())
loss.backward()
