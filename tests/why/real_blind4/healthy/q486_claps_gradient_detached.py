# https://github.com/seanie12/CLAPS/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AdvContrastiveNMT(nn.Module):
    def __init__(self, vocab=30, hidden=12, tau=0.1, neg_eps=1.0, pos_eps=3.0):
        super(AdvContrastiveNMT, self).__init__()
        self.tau, self.neg_eps, self.pos_eps = tau, neg_eps, pos_eps
        self.shared = nn.Embedding(vocab, hidden)
        self.encoder = nn.GRU(hidden, hidden, batch_first=True)
        self.decoder = nn.GRU(hidden, hidden, batch_first=True)
        self.lm_head = nn.Linear(hidden, vocab)
        self.projection = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU())

    def avg_pool(self, hidden_states):
        return hidden_states.mean(1)

    def generate_adv(self, dec_hiddens, lm_labels):
        global dec_grad
        dec_hiddens = dec_hiddens.detach()
        dec_hiddens.requires_grad = True

        lm_logits = self.lm_head(dec_hiddens)
        criterion = nn.CrossEntropyLoss()
        loss = criterion(lm_logits.view(-1, lm_logits.size(-1)), lm_labels.reshape(-1))
        dec_grad, = torch.autograd.grad(loss, dec_hiddens)
        dec_grad = dec_grad.detach()

        l2_norm = torch.norm(dec_grad, dim=-1)
        dec_grad = dec_grad / (l2_norm.unsqueeze(-1) + 1e-12)
        perturbed_dec = dec_hiddens + self.neg_eps * dec_grad.detach()
        return perturbed_dec.detach()

    def forward(self, input_ids, decoder_input_ids, lm_labels):
        # input_ids: B x L, decoder_input_ids: B x S, lm_labels: B x S
        hidden_states, state = self.encoder(self.shared(input_ids))
        sequence_output, _ = self.decoder(self.shared(decoder_input_ids), state)
        lm_logits = self.lm_head(sequence_output)
        nll = F.cross_entropy(lm_logits.view(-1, lm_logits.size(-1)), lm_labels.reshape(-1))

        proj_enc_h, proj_dec_h = self.projection(hidden_states), self.projection(sequence_output)
        avg_doc, avg_abs = self.avg_pool(proj_enc_h), self.avg_pool(proj_dec_h)
        cos = nn.CosineSimilarity(dim=-1)
        sim_matrix = cos(avg_doc.unsqueeze(1), avg_abs.unsqueeze(0))
        perturbed_dec = self.generate_adv(sequence_output, lm_labels)
        avg_pert = self.avg_pool(self.projection(perturbed_dec))
        adv_sim = cos(avg_doc, avg_pert).unsqueeze(1)
        logits = torch.cat([sim_matrix, adv_sim], 1) / self.tau
        cont_loss = F.cross_entropy(logits, torch.arange(len(logits)))
        return nll, cont_loss


# %%
model = AdvContrastiveNMT()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(2):
    x, y = torch.randint(30, (4, 7)), torch.randint(30, (4, 6))
    nll, cont_loss = model(x, y[:, :-1], y[:, 1:])
    loss = nll + cont_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, nll.item(), cont_loss.item())
