import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'
import type { ModelLoad } from './model-metrics.ts'

const who = { id: 'r', caller: 'anyone', model: 'm' }
const usage = { inputTokens: 10, cachedInputTokens: 4, outputTokens: 3, reasoningTokens: 0 }

function create(load: ModelLoad[] = []) {
  return createMetrics({ readLoad: () => load, version: '1.2.3', processMetrics: false })
}

const loaded = (id: string, more: Partial<ModelLoad> = {}): ModelLoad => ({
  id,
  state: 'ready',
  slots: 4,
  busy: 0,
  queued: 0,
  lanes: { interactive: 0, background: 0 },
  refused: 0,
  ...more,
})

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
  metrics.generationEnded({ ...who, outcome: 'ok', durationMs: 1500, usage, timings: { firstTokenMs: 500 } })
  metrics.generationEnded({ ...who, outcome: 'engine-failed', durationMs: 10 })
  const text = await metrics.render()
  expect(text).toContain('dragoman_generation_duration_seconds_sum{model="m",outcome="ok"} 1.5')
  expect(text).toContain('dragoman_generation_duration_seconds_count{model="m",outcome="engine-failed"} 1')
  expect(text).toContain('dragoman_time_to_first_token_seconds_sum{model="m"} 0.5')
  expect(text).toContain('dragoman_input_tokens_total{model="m"} 10')
  expect(text).toContain('dragoman_cached_input_tokens_total{model="m"} 4')
  expect(text).toContain('dragoman_output_tokens_total{model="m"} 3')
  expect(text).toContain('dragoman_request_input_tokens_sum{model="m"} 10')
  // One second for the two tokens after the first.
  expect(text).toContain('dragoman_time_per_output_token_seconds_sum{model="m"} 0.5')
})

test('prompt tokens are counted by where they were', async () => {
  const metrics = create()
  const count = (more: object) => metrics.generationEnded({ ...who, outcome: 'ok', durationMs: 1, usage: { ...usage, ...more } })
  count({ cachedIn: { slot: 4 } })
  count({ cachedInputTokens: 5, cachedIn: { memory: 2, disk: 3 } })
  // Of a server, which does not say where they were.
  count({ cachedInputTokens: 1 })
  const text = await metrics.render()
  const expected = { computed: 20, slot: 4, memory: 2, disk: 3, upstream: 1 }
  for (const [source, tokens] of Object.entries(expected)) {
    expect(text).toContain(`dragoman_prompt_tokens_total{model="m",source="${source}"} ${tokens}`)
  }
})

test('reasons for which choices end are counted', async () => {
  const metrics = create()
  metrics.generationEnded({ ...who, outcome: 'ok', durationMs: 1, usage, finishReasons: ['stop', 'length', 'stop'] })
  const text = await metrics.render()
  expect(text).toContain('dragoman_finished_choices_total{model="m",reason="stop"} 2')
  expect(text).toContain('dragoman_finished_choices_total{model="m",reason="length"} 1')
})

test('requests and tokens are counted by key; keys beyond the first 200 are one', async () => {
  const metrics = create()
  for (let key = 0; key < 300; key++)
    metrics.generationEnded({ ...who, caller: `key-${key}`, outcome: 'ok', durationMs: 1, usage })
  const text = await metrics.render()
  expect(text).toContain('dragoman_key_requests_total{key="key-199",outcome="ok"} 1')
  expect(text).toContain('dragoman_key_requests_total{key="other",outcome="ok"} 100')
  expect(text).toContain('dragoman_key_tokens_total{key="other",type="input"} 1000')
  expect(text).toContain('dragoman_key_tokens_total{key="key-0",type="cached"} 4')
  expect(text).toContain('dragoman_key_tokens_total{key="key-0",type="output"} 3')
  expect(text).not.toContain('key-200')
})

test('the load of models is read when rendered, and a removed model disappears', async () => {
  const lanes = { interactive: 1, background: 1 }
  const load = [loaded('a', { queued: 2, busy: 1, lanes, refused: 5, tokensAfterCancel: 3, loadSeconds: 1.5 })]
  const metrics = create(load)
  const text = await metrics.render()
  expect(text).toContain('dragoman_queue_depth{model="a"} 2')
  expect(text).toContain('dragoman_tokens_after_cancel_total{model="a"} 3')
  expect(text).toContain('dragoman_queue_lane_depth{model="a",lane="background"} 1')
  expect(text).toContain('dragoman_queue_refused_total{model="a"} 5')
  expect(text).toContain('dragoman_slots{model="a"} 4')
  expect(text).toContain('dragoman_model_state{model="a",state="ready"} 1')
  expect(text).toContain('dragoman_model_state{model="a",state="failed"} 0')
  expect(text).toContain('dragoman_model_load_seconds{model="a"} 1.5')
  load[0] = loaded('b', { busy: 4 })
  const later = await metrics.render()
  expect(later).toContain('dragoman_slots_busy{model="b"} 4')
  expect(later).not.toContain('model="a"')
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

test('requests that another model serves are counted by both', async () => {
  const metrics = create()
  metrics.fellBack({ model: 'm', servedBy: 'n' })
  expect(await metrics.render()).toContain('dragoman_fallbacks_total{model="m",served="n"} 1')
})

test('the version is shown', async () => {
  expect(await create().render()).toContain(`dragoman_build_info{version="1.2.3",node="${process.versions.node}"} 1`)
})

test('two servers in one process do not share metrics, and process metrics are included', async () => {
  createMetrics({ readLoad: () => [], version: '1' })
  const metrics = createMetrics({ readLoad: () => [], version: '1' })
  const text = await metrics.render()
  expect(text).toContain('process_cpu_user_seconds_total')
  // Names of gauges that Prometheus' own checks refuse.
  expect(text).not.toMatch(/# TYPE \w+_total gauge/)
})

test('the delay of the event loop is measured twenty times a second, which an idle server hardly notices', async () => {
  const metrics = createMetrics({ readLoad: () => [], version: '1' })
  await metrics.render()
  await pause(300)
  const [, least] = /^nodejs_eventloop_lag_min_seconds (\S+)$/m.exec(String(await metrics.render())) ?? []
  // It includes the time between two measurements.
  expect(Number(least)).toBeGreaterThan(0.03)
})
