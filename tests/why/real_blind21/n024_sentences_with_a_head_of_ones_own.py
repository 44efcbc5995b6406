# https://github.com/huggingface/setfit/issues/271
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SentenceTransformer(nn.Module):
    def __init__(self, vocab_size=40, dim=16):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, dim)
        self.pooler = nn.Linear(dim, dim)

    def forward(self, input_ids):
        return {"sentence_embedding": torch.tanh(self.pooler(self.embedding(input_ids)))}

    def fit(self, train_objectives, epochs, optimizer_params):
        pairs, loss_fn = train_objectives
        optimizer = torch.optim.AdamW(self.parameters(), **optimizer_params)
        for _ in range(epochs):
            for a, b, label in pairs:
                loss = loss_fn(self(a)["sentence_embedding"], self(b)["sentence_embedding"], label)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


class SetFitHead(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        nn.init.xavier_uniform_(self.linear.weight)

    def forward(self, features):
        return self.linear(features["sentence_embedding"])


class SetFitModel:
    def __init__(self, model_body, model_head):
        self.model_body, self.model_head = model_body, model_head

    def has_differentiable_head(self):
        return isinstance(self.model_head, nn.Module)

    def freeze(self, component, to_freeze=True):
        for param in component.parameters():
            param.requires_grad = not to_freeze

    def fit(self, x_train, y_train, num_epochs, learning_rate, body_learning_rate):
        optimizer = torch.optim.AdamW([
            {"params": self.model_body.parameters(), "lr": body_learning_rate},
            {"params": self.model_head.parameters(), "lr": learning_rate}])
        for _ in range(num_epochs):
            loss = F.cross_entropy(self.model_head(self.model_body(x_train)), y_train)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    @torch.no_grad()
    def predict(self, x_test):
        return self.model_head(self.model_body(x_test)).argmax(-1)


class SetFitTrainer:
    def __init__(self, model, train_dataset, num_iterations=20, num_epochs=1, learning_rate=2e-3):
        self.model, self.train_dataset, self.num_iterations = model, train_dataset, num_iterations
        self.num_epochs, self.learning_rate = num_epochs, learning_rate
        self._freeze = True

    def freeze(self):
        self._freeze = True
        self.model.freeze(self.model.model_head)

    def unfreeze(self, keep_body_frozen=False):
        self._freeze = False
        self.model.freeze(self.model.model_head, to_freeze=False)
        self.model.freeze(self.model.model_body, to_freeze=keep_body_frozen)

    def train(self, num_epochs=None, learning_rate=None, body_learning_rate=1e-5):
        num_epochs = num_epochs or self.num_epochs
        learning_rate = learning_rate or self.learning_rate
        x_train, y_train = self.train_dataset
        if not self.model.has_differentiable_head() or self._freeze:
            pairs = []
            for _ in range(self.num_iterations):
                i, j = torch.randperm(len(x_train)), torch.randperm(len(x_train))
                pairs.append((x_train[i], x_train[j], (y_train[i] == y_train[j]).float()))
            cosine_loss = lambda a, b, label: F.mse_loss(F.cosine_similarity(a, b), label)
            self.model.model_body.fit((pairs, cosine_loss), epochs=num_epochs, optimizer_params={"lr": learning_rate})
        if not self.model.has_differentiable_head() or not self._freeze:
            self.model.fit(x_train, y_train, num_epochs, learning_rate, body_learning_rate)


# %%
y_train = torch.arange(3).repeat(8)
x_train = torch.where(torch.rand(24, 6) < 0.6, y_train[:, None] * 10 + torch.randint(0, 10, (24, 6)), torch.randint(0, 40, (24, 6)))
model = SetFitModel(SentenceTransformer(), SetFitHead(16, 3))
trainer = SetFitTrainer(model, (x_train, y_train), num_iterations=20, num_epochs=15, learning_rate=1e-2)
before = {name: param.detach().clone() for name, param in model.model_head.named_parameters()}

# %%
trainer.train()

# %%
for name, param in model.model_head.named_parameters():
    print(name, torch.equal(param, before[name]))
accuracy = (model.predict(x_train) == y_train).float().mean().item()
print(accuracy)
