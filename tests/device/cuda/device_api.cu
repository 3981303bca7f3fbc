// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What the device API becomes in PTX. The scopes must be .sys wherever another PE looks: no CPU
// test can tell.

#include <heddle/device/impl/multimem.hpp>
#include <heddle/device/ll.hpp>
#include <heddle/device/ll128.hpp>
#include <heddle/device/team.hpp>

using namespace heddle;

// CHECK-LABEL: .entry put_block(
// CHECK: copyINS_10cuda_blockE
// CHECK: ret;
extern "C" __global__ void put_block(team_ref team, float* dst, const float* src, size_t n) {
  team.put(cuda_block{}, dst, src, n, 1);
}

// CHECK-LABEL: .entry set_signal(
// CHECK: bar{{(rier)?}}.{{.*}}sync
// CHECK-NOT: {{(gpu|cta)}}
// CHECK: {{st.release.sys|fence.acq_rel.sys|fence.sc.sys}}
// CHECK: ret;
extern "C" __global__ void set_signal(team_ref team, heddle::signal* word) {
  team.update_signal(cuda_block{}, word, 7, signal_op::set, 1);
}

// CHECK-LABEL: .entry add_signal(
// CHECK: bar{{(rier)?}}.{{.*}}sync
// CHECK: {{(atom|red)}}.add.release.sys.u64
// CHECK: ret;
extern "C" __global__ void add_signal(team_ref team, heddle::signal* word) {
  team.update_signal(cuda_block{}, word, 7, signal_op::add, 1);
}

// CHECK-LABEL: .entry wait_for_signal(
// CHECK: ld.acquire.sys.{{[ub]}}64
// CHECK: ret;
extern "C" __global__ void wait_for_signal(team_ref team, heddle::signal* word) {
  team.wait_until(cuda_block{}, word, cmp::ge, heddle::signal{1});
}

// CHECK-LABEL: .entry fence_then_flag(
// CHECK: fence.acq_rel.sys
// CHECK: st.relaxed.sys.{{[ub]}}64
// CHECK: ret;
extern "C" __global__ void fence_then_flag(team_ref team, heddle::signal* word) {
  team.fence();
  team.p(word, heddle::signal{3}, 1);
}

// CHECK-LABEL: .entry quiet_all(
// CHECK: fence.sc.sys
// CHECK: ret;
extern "C" __global__ void quiet_all(team_ref team) { team.quiet(); }

// CHECK-LABEL: .entry fetch_add(
// CHECK: atom.add.relaxed.sys.u64
// CHECK: ret;
extern "C" __global__ void fetch_add(team_ref team, uint64_t* word, uint64_t* old) {
  *old = team.atomic_fetch_add(word, uint64_t{1}, 1);
}

// CHECK-LABEL: .entry ll_words(
// CHECK: st.relaxed.sys.v4.u32
// CHECK: ld.relaxed.sys.v4.u32
// CHECK: ret;
extern "C" __global__ void ll_words(ll_line* to, const ll_line* from, uint64_t* data) {
  ll_store(to, 5, 1);
  while (!ll_load(from, 1, *data)) {
  }
}

// Nothing is done PE by PE where an NVLink switch can do it: sm_90 and later.
// MULTIMEM-LABEL: .entry combine_all(
// MULTIMEM: fence.proxy.alias
// MULTIMEM: multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2
// MULTIMEM: multimem.st.relaxed.sys.global.v4.f32
// MULTIMEM: ret;
extern "C" __global__ void combine_all(team_ref team, bf16* values) {
  using access = detail::multimem<bf16, reduce_sum>;
  detail::fence_multicast();
  access::store(team, values, access::load_reduce(reduce_sum{}, team, values));
}

// A line is one store of 16 bytes of each of its threads, which have met before it.
// CHECK-LABEL: .entry ll128_lines(
// CHECK: bar.warp.sync
// CHECK-NOT: bra
// CHECK: st.relaxed.sys.v2.u64
// CHECK: ld.relaxed.sys.{{[ub]}}64
// CHECK: vote.sync.all
// CHECK: ld.relaxed.sys.v2.u64
// CHECK: ret;
extern "C" __global__ void ll128_lines(ll128_line* to, const ll128_line* from, uint64_t* data) {
  const line_team<cuda_warp> team{cuda_warp{}};
  line_words<cuda_warp> words = {data[0], data[1]};
  ll128_store(team, to + team.line(), words, 1);
  while (!team.all(ll128_flag(from + team.line()) == 1)) {
  }
  ll128_load(team, from + team.line(), words);
  data[0] = words[0];
  data[1] = words[1];
}

// What put_block calls comes after all entries.
// CHECK-LABEL: .func {{.*}}copyINS_10cuda_blockE{{.*}}(
// CHECK: ld{{.*}}.v2.{{[ub]}}64
// CHECK: st{{.*}}.v2.{{[ub]}}64
// CHECK: ret;
