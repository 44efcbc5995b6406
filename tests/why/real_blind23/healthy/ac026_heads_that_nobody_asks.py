# https://github.com/kzl/decision-transformer/blob/master/gym/decision_transformer/training/seq_trainer.py
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)


class DecisionTransformer(nn.Module):
    def __init__(self, state_dim, act_dim, hidden_size=32, max_ep_len=16):
        super().__init__()
        self.state_dim, self.act_dim, self.hidden_size = state_dim, act_dim, hidden_size
        layer = nn.TransformerEncoderLayer(hidden_size, 2, 64, dropout=0.0, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, 1)
        self.embed_timestep = nn.Embedding(max_ep_len, hidden_size)
        self.embed_return = nn.Linear(1, hidden_size)
        self.embed_state = nn.Linear(state_dim, hidden_size)
        self.embed_action = nn.Linear(act_dim, hidden_size)
        self.embed_ln = nn.LayerNorm(hidden_size)
        self.predict_state = nn.Linear(hidden_size, state_dim)
        self.predict_action = nn.Sequential(nn.Linear(hidden_size, act_dim), nn.Tanh())
        self.predict_return = nn.Linear(hidden_size, 1)

    def forward(self, states, actions, rewards, returns_to_go, timesteps):
        batch_size, seq_length = states.shape[0], states.shape[1]
        time_embeddings = self.embed_timestep(timesteps)
        state_embeddings = self.embed_state(states) + time_embeddings
        action_embeddings = self.embed_action(actions) + time_embeddings
        returns_embeddings = self.embed_return(returns_to_go) + time_embeddings
        stacked_inputs = torch.stack((returns_embeddings, state_embeddings, action_embeddings), dim=1)
        stacked_inputs = stacked_inputs.permute(0, 2, 1, 3).reshape(batch_size, 3 * seq_length, self.hidden_size)
        causal = torch.ones(3 * seq_length, 3 * seq_length, dtype=torch.bool).triu(1)
        x = self.transformer(self.embed_ln(stacked_inputs), mask=causal)
        x = x.reshape(batch_size, seq_length, 3, self.hidden_size).permute(0, 2, 1, 3)
        return_preds = self.predict_return(x[:, 2])
        state_preds = self.predict_state(x[:, 2])
        action_preds = self.predict_action(x[:, 1])
        return state_preds, action_preds, return_preds


class SequenceTrainer:
    def __init__(self, model, optimizer, batch_size, get_batch, loss_fn, scheduler=None):
        self.model, self.optimizer, self.batch_size = model, optimizer, batch_size
        self.get_batch, self.loss_fn, self.scheduler = get_batch, loss_fn, scheduler
        self.diagnostics = dict()

    def train_iteration(self, num_steps):
        train_losses = []
        self.model.train()
        for _ in range(num_steps):
            train_losses.append(self.train_step())
            if self.scheduler is not None:
                self.scheduler.step()
        return np.mean(train_losses)

    def train_step(self):
        states, actions, rewards, rtg, timesteps, attention_mask = self.get_batch(self.batch_size)
        action_target = torch.clone(actions)
        state_preds, action_preds, reward_preds = self.model.forward(states, actions, rewards, rtg[:, :-1], timesteps)
        act_dim = action_preds.shape[2]
        action_preds = action_preds.reshape(-1, act_dim)[attention_mask.reshape(-1) > 0]
        action_target = action_target.reshape(-1, act_dim)[attention_mask.reshape(-1) > 0]
        loss = self.loss_fn(None, action_preds, None, None, action_target, None)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), .25)
        self.optimizer.step()
        with torch.no_grad():
            self.diagnostics['training/action_error'] = torch.mean((action_preds - action_target) ** 2).item()
        return loss.detach().cpu().item()


# %%
skill = torch.rand(300, 1, 1)
positions = torch.zeros(300, 9, 2)
goals = torch.randn(300, 1, 2)
all_actions = []
for step in range(8):
    wanted = torch.tanh(goals[:, 0] - positions[:, step])
    all_actions.append(skill[:, 0] * wanted)
    positions[:, step + 1] = positions[:, step] + 0.5 * all_actions[-1]
all_states = torch.cat([positions[:, :8], goals.expand(-1, 8, -1)], dim=2)
all_actions = torch.stack(all_actions, dim=1)
all_rewards = -(positions[:, 1:] - goals).norm(dim=2, keepdim=True)
all_rtg = torch.cat([all_rewards.flip(1).cumsum(1).flip(1), torch.zeros(300, 1, 1)], dim=1) / 10
episode_lengths = torch.randint(4, 9, (300,))


def get_batch(batch_size):
    i = torch.randint(0, 300, (batch_size,))
    mask = (torch.arange(8)[None] < episode_lengths[i, None]).long()
    return all_states[i], all_actions[i], all_rewards[i], all_rtg[i], torch.arange(8).expand(batch_size, 8), mask


# %%
model = DecisionTransformer(state_dim=4, act_dim=2)
warmup_steps = 20
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda steps: min((steps + 1) / warmup_steps, 1))
trainer = SequenceTrainer(
    model, optimizer, 64, get_batch, lambda s_hat, a_hat, r_hat, s, a, r: torch.mean((a_hat - a) ** 2), scheduler)
train_losses = [trainer.train_iteration(num_steps=40) for _ in range(5)]
print(train_losses[0], train_losses[-1], trainer.diagnostics)
