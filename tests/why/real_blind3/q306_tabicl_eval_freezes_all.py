# https://github.com/soda-inria/tabicl/issues/17
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class TabICL(nn.Module):
    """Column embedding, row interaction and in-context learning."""

    def __init__(self, max_classes=3, dim=16):
        super().__init__()
        self.col_embedder = nn.Sequential(nn.Linear(1, dim), nn.GELU(), nn.Linear(dim, dim))
        self.row_interactor = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.y_embedder = nn.Embedding(max_classes, dim)
        self.icl_predictor = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.decoder = nn.Linear(dim, max_classes)

    def _representations(self, X):
        return self.row_interactor(self.col_embedder(X.unsqueeze(-1))).mean(1)

    def _icl(self, R, y_train):
        n = len(y_train)
        R = torch.cat([R[:n] + self.y_embedder(y_train), R[n:]])
        return self.decoder(self.icl_predictor(R.unsqueeze(0))[0])[n:]

    def _train_forward(self, X, y_train):
        return self._icl(self._representations(X), y_train)

    def _inference_forward(self, X, y_train):
        with torch.no_grad():
            R = self._representations(X)
        return self._icl(R, y_train)

    def forward(self, X, y_train):
        if self.training:
            return self._train_forward(X, y_train)
        return self._inference_forward(X, y_train)


# %%
# learn a preprocessing end to end, keep the pretrained TabICL as it is
preprocessing = nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 5))
tabicl = TabICL()
tabicl.eval()
optimizer = torch.optim.Adam(preprocessing.parameters(), lr=1e-3)

X, y = torch.randn(20, 12), torch.randint(3, (20,))
X_train, y_train, X_test, y_test = X[:14], y[:14], X[14:], y[14:]

# %%
losses = []
for epoch in range(5):
    optimizer.zero_grad()
    features = preprocessing(torch.cat([X_train, X_test]))
    logits = tabicl(features, y_train)
    loss = F.cross_entropy(logits, y_test)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses)
