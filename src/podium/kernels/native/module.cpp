// The native kernels as one Python module; each subject is bound in its own file.
#include "bindings.hpp"

#ifdef __unix__
#include <pthread.h>
#endif

NB_MODULE(_native, m) {
#ifdef __unix__
    pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
#endif
    m.doc() = "Native kernels. podium.kernels.reference describes what each of them computes.";
    bind_aggregation(m);
    bind_boosting(m);
    bind_bradley_terry(m);
    bind_clicks(m);
    bind_clusters(m);
    bind_linear(m);
    bind_movers(m);
    bind_passes(m);
    bind_place_beliefs(m);
    bind_trees(m);
    bind_text(m);
    bind_ranking(m);
    bind_losses(m);
    bind_structural(m);
    bind_windows(m);
}
