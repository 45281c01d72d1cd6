import { expect, test } from 'vitest'
import { createMetrics, type ModelLoad } from './metrics.ts'

const who = { id: 'r', caller: 'anyone' }
const usage = { inputTokens: 10, cachedInputTokens: 4, outputTokens: 3, reasoningTokens: 0 }

function create(load: ModelLoad[] = []) {
  return createMetrics({ readLoad: () => load, processMetrics: false })
}

test('requests are counted by route and status, and in flight while they run', async () => {
  const metrics = create()
  metrics.requestStarted()
  metrics.requestStarted()
  metrics.requestEnded('/v1/models', 200)
  const text = await metrics.render()
  expect(text).toContain('dragoman_http_requests_total{route="/v1/models",status="200"} 1')
  expect(text).toContain('dragoman_requests_in_flight 1')
})

test('a generation counts its duration, its first token and its tokens', async () => {
  const metrics = create()
  metrics.generationEnded({ ...who, model: 'm', outcome: 'ok', durationMs: 1500, usage, timings: { firstTokenMs: 20 } })
  metrics.generationEnded({ ...who, model: 'm', outcome: 'engine-failed', durationMs: 10 })
  const text = await metrics.render()
  expect(text).toContain('dragoman_generation_duration_seconds_sum{model="m",outcome="ok"} 1.5')
  expect(text).toContain('dragoman_generation_duration_seconds_count{model="m",outcome="engine-failed"} 1')
  expect(text).toContain('dragoman_time_to_first_token_seconds_sum{model="m"} 0.02')
  expect(text).toContain('dragoman_input_tokens_total{model="m"} 10')
  expect(text).toContain('dragoman_cached_input_tokens_total{model="m"} 4')
  expect(text).toContain('dragoman_output_tokens_total{model="m"} 3')
})

test('the load of models is read when rendered, and a removed model disappears', async () => {
  const lanes = { interactive: 1, background: 1 }
  const load: ModelLoad[] = [{ id: 'a', queued: 2, busy: 1, lanes, refused: 5, tokensAfterCancel: 3 }]
  const metrics = create(load)
  expect(await metrics.render()).toContain('dragoman_queue_depth{model="a"} 2')
  expect(await metrics.render()).toContain('dragoman_tokens_after_cancel_total{model="a"} 3')
  expect(await metrics.render()).toContain('dragoman_queue_lane_depth{model="a",lane="background"} 1')
  expect(await metrics.render()).toContain('dragoman_queue_refused_total{model="a"} 5')
  load[0] = { id: 'b', queued: 0, busy: 4, lanes: { interactive: 0, background: 0 }, refused: 0 }
  const text = await metrics.render()
  expect(text).toContain('dragoman_slots_busy{model="b"} 4')
  expect(text).not.toContain('model="a"')
})

test('waits for a slot are counted by lane', async () => {
  const metrics = create()
  metrics.slotGranted('m', 'interactive', 40)
  expect(await metrics.render()).toContain('dragoman_queue_wait_seconds_sum{model="m",lane="interactive"} 0.04')
})

test('cancellations are counted by reason', async () => {
  const metrics = create()
  metrics.requestCancelled('client-gone')
  for (let count = 0; count < 3; count++) metrics.requestCancelled('shutting-down')
  const text = await metrics.render()
  expect(text).toContain('dragoman_cancellations_total{reason="client-gone"} 1')
  expect(text).toContain('dragoman_cancellations_total{reason="shutting-down"} 3')
})

test('turns that changed what was said before are counted by model', async () => {
  const metrics = create()
  metrics.promptDiverged('m')
  expect(await metrics.render()).toContain('dragoman_diverged_prompts_total{model="m"} 1')
})

test('two servers in one process do not share metrics, and process metrics are included', async () => {
  createMetrics({ readLoad: () => [] })
  const metrics = createMetrics({ readLoad: () => [] })
  expect(await metrics.render()).toContain('process_cpu_user_seconds_total')
})
