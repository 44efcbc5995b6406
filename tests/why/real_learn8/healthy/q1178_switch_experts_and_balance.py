# https://github.com/labmlai/annotated_deep_learning_paper_implementations/blob/master/labml_nn/transformers/switch/__init__.py
import torch
from torch import nn

torch.manual_seed(3)


class SwitchFeedForward(nn.Module):
    def __init__(self, capacity_factor, drop_tokens, n_experts, d_model):
        super().__init__()
        self.capacity_factor, self.drop_tokens, self.n_experts = (
            capacity_factor,
            drop_tokens,
            n_experts,
        )
        self.experts = nn.ModuleList(
            [
                nn.Sequential(nn.Linear(d_model, 16), nn.ReLU(), nn.Linear(16, d_model))
                for _ in range(n_experts)
            ]
        )
        self.switch = nn.Linear(d_model, n_experts)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        seq_len, batch_size, d_model = x.shape
        x = x.view(-1, d_model)
        route_prob = self.softmax(self.switch(x))
        route_prob_max, routes = torch.max(route_prob, dim=-1)
        indexes_list = [
            torch.eq(routes, i).nonzero(as_tuple=True)[0] for i in range(self.n_experts)
        ]
        final_output = x.new_zeros(x.shape)
        capacity = int(self.capacity_factor * len(x) / self.n_experts)
        counts = x.new_tensor([len(indexes_list[i]) for i in range(self.n_experts)])
        dropped = []
        if self.drop_tokens:
            for i in range(self.n_experts):
                if len(indexes_list[i]) <= capacity:
                    continue
                indexes_list[i] = indexes_list[i][torch.randperm(len(indexes_list[i]))]
                dropped.append(indexes_list[i][capacity:])
                indexes_list[i] = indexes_list[i][:capacity]
        expert_output = [self.experts[i](x[indexes_list[i], :]) for i in range(self.n_experts)]
        for i in range(self.n_experts):
            final_output[indexes_list[i], :] = expert_output[i]
        if dropped:
            dropped = torch.cat(dropped)
            final_output[dropped, :] = x[dropped, :]
        final_output = final_output * (route_prob_max / route_prob_max.detach()).view(-1, 1)
        return (
            final_output.view(seq_len, batch_size, d_model),
            counts,
            route_prob.sum(0),
            len(dropped),
        )


class SwitchTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.src_embed, self.generator = nn.Embedding(12, 8), nn.Linear(8, 12)
        self.feed_forward, self.norm = SwitchFeedForward(1.2, True, 6, 8), nn.LayerNorm(8)

    def forward(self, x):
        x = self.src_embed(x)
        ff, counts, route_prob, n_dropped = self.feed_forward(self.norm(x))
        return self.generator(x + ff), counts, route_prob, n_dropped


model = SwitchTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_func = nn.CrossEntropyLoss()
before = model.generator.weight.detach().clone()

# %%
for batch_idx in range(2):
    data, target = torch.randint(0, 12, (3, 2)), torch.randint(0, 12, (3, 2))
    output, counts, route_prob, n_dropped = model(data)
    cross_entropy_loss = loss_func(output.view(-1, 12), target.view(-1))
    total = counts.sum(dim=-1, keepdims=True)
    route_frac = counts / total
    route_prob = route_prob / total
    load_balancing_loss = 6 * (route_frac * route_prob).sum()
    loss = cross_entropy_loss + 0.01 * load_balancing_loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item(), n_dropped, route_frac)
