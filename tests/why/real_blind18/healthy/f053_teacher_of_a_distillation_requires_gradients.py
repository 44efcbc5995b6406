# https://github.com/lightly-ai/lightly-train/issues/352
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class EmbeddingModel(nn.Module):
    def __init__(self, width, embed_dim):
        super().__init__()
        self.wrapped_model = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                                           nn.MaxPool2d(2), nn.Conv2d(width, embed_dim, 3, padding=1), nn.ReLU())
        self.embed_dim = embed_dim

    def forward(self, x, pool=True):
        x = self.wrapped_model(x)
        return x.mean((2, 3)) if pool else x


class Distillation(nn.Module):
    def __init__(self, embedding_model, teacher_embedding_model, queue_size=128, temperature=0.07):
        super().__init__()
        self.teacher_embedding_model = teacher_embedding_model
        self.teacher_embedding_model.eval()
        self.student_embedding_model = embedding_model
        self.student_projection_head = nn.Linear(embedding_model.embed_dim, teacher_embedding_model.embed_dim)
        self.temperature = temperature
        self.register_buffer('teacher_queue', torch.zeros(queue_size, teacher_embedding_model.embed_dim))

    @torch.no_grad()
    def _update_queue(self, x):
        self.teacher_queue = torch.cat([x, self.teacher_queue])[: len(self.teacher_queue)]

    @torch.no_grad()
    def _forward_teacher(self, x):
        return F.normalize(self.teacher_embedding_model(x), dim=-1)

    def _forward_student(self, x):
        return F.normalize(self.student_projection_head(self.student_embedding_model(x)), dim=-1)

    def training_step(self, batch):
        x_teacher = self._forward_teacher(batch)
        x_student = self._forward_student(batch)
        teacher_similarity = F.softmax(x_teacher @ self.teacher_queue.t() / self.temperature, dim=-1)
        student_similarity = x_student @ self.teacher_queue.t() / self.temperature
        self._update_queue(x_teacher)
        return F.cross_entropy(student_similarity, teacher_similarity)

    def trainable_modules(self):
        return [self.student_embedding_model, self.student_projection_head]

    def configure_optimizers(self):
        return torch.optim.AdamW([p for m in self.trainable_modules() for p in m.parameters()], lr=5e-3)


def patterns(n):
    y = torch.randint(0, 4, (n,))
    wave = torch.sin(torch.arange(10.0) * 2 + torch.rand(n, 1) * 6)
    rows, cols = wave.unsqueeze(2).expand(n, 10, 10), wave.unsqueeze(1).expand(n, 10, 10)
    x = torch.stack([rows, cols, rows * cols, torch.randn(n, 10, 10)], 1)[torch.arange(n), y]
    return x.unsqueeze(1) + 0.4 * torch.randn(n, 1, 10, 10), y


# %%
teacher = EmbeddingModel(16, 24)
classifier = nn.Linear(24, 4)
pretrain = torch.optim.Adam([*teacher.parameters(), *classifier.parameters()], lr=5e-3)
for _ in range(60):
    x, y = patterns(64)
    pretrain.zero_grad()
    F.cross_entropy(classifier(teacher(x)), y).backward()
    pretrain.step()
pretrain.zero_grad()

# %%
method = Distillation(EmbeddingModel(8, 12), teacher)
for name, para in method.named_parameters():
    print(name, para.requires_grad)
before = copy.deepcopy(teacher.state_dict())
optimizer = method.configure_optimizers()
losses = []
for step in range(150):
    x, _ = patterns(64)
    loss = method.training_step(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
with torch.no_grad():
    (a, ya), (b, yb) = patterns(300), patterns(300)
    method.student_embedding_model.eval()
    nearest = (method._forward_student(b) @ method._forward_student(a).t()).argmax(1)
    knn = (ya[nearest] == yb).float().mean().item()
teacher_moved = any(not torch.equal(before[k], v) for k, v in teacher.state_dict().items())
teacher_grads = [p.grad for p in teacher.parameters()]
print(losses[5], losses[-1], knn, teacher_moved)
assert all(p.requires_grad for p in teacher.parameters()) and all(g is None for g in teacher_grads)
assert not teacher_moved and all(p.grad is not None for m in method.trainable_modules() for p in m.parameters())
assert knn > 0.8
