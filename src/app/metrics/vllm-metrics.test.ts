import { expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'
import type { ModelLoad } from './model-metrics.ts'

const usage = { inputTokens: 100, cachedInputTokens: 60, outputTokens: 11, reasoningTokens: 0 }
const who = { id: 'r', caller: 'anyone', model: 'm' }
const load: ModelLoad = {
  id: 'm',
  state: 'ready',
  slots: 4,
  busy: 3,
  queued: 2,
  lanes: { interactive: 2, background: 0 },
  refused: 0,
  adapters: ['sql', 'poems'],
}

function create(dialects?: readonly 'vllm'[]) {
  return createMetrics({ readLoad: () => [load], version: '1', processMetrics: false, ...(dialects && { dialects }) })
}

test('without the setting, names are only our own', async () => {
  expect(await create().render()).not.toContain('vllm')
})

test("vLLM's names have the numbers of our own", async () => {
  const metrics = create(['vllm'])
  const timings = { firstTokenMs: 500 }
  const ended = { ...who, usage, timings, durationMs: 1500 }
  metrics.generationEnded({ ...ended, outcome: 'ok', finishReasons: ['stop', 'tool-calls', 'length'] })
  metrics.generationEnded({ ...ended, outcome: 'cancelled', finishReasons: ['cancelled'] })
  metrics.slotGranted('m', 'interactive', 2000)
  metrics.slotGranted('m', 'background', 1000)
  const text = await metrics.render()
  const values = text.split('\n').filter((line) => line.startsWith('vllm:') && !line.includes('_bucket'))
  const labels = 'model_name="m",engine="0"'
  expect(values).toEqual([
    `vllm:num_requests_running{${labels}} 3`,
    `vllm:num_requests_waiting{${labels}} 2`,
    `vllm:prompt_tokens_total{${labels}} 200`,
    `vllm:generation_tokens_total{${labels}} 22`,
    `vllm:prefix_cache_queries_total{${labels}} 200`,
    `vllm:prefix_cache_hits_total{${labels}} 120`,
    `vllm:request_success_total{${labels},finished_reason="stop"} 2`,
    `vllm:request_success_total{${labels},finished_reason="length"} 1`,
    `vllm:request_success_total{${labels},finished_reason="abort"} 1`,
    `vllm:time_to_first_token_seconds_sum{${labels}} 1`,
    `vllm:time_to_first_token_seconds_count{${labels}} 2`,
    `vllm:request_time_per_output_token_seconds_sum{${labels}} 0.1`,
    `vllm:request_time_per_output_token_seconds_count{${labels}} 1`,
    `vllm:e2e_request_latency_seconds_sum{${labels}} 1.5`,
    `vllm:e2e_request_latency_seconds_count{${labels}} 1`,
    `vllm:request_queue_time_seconds_sum{${labels}} 3`,
    `vllm:request_queue_time_seconds_count{${labels}} 2`,
    `vllm:request_prompt_tokens_sum{${labels}} 200`,
    `vllm:request_prompt_tokens_count{${labels}} 2`,
    `vllm:request_generation_tokens_sum{${labels}} 22`,
    `vllm:request_generation_tokens_count{${labels}} 2`,
    expect.stringMatching(
      /^vllm:lora_requests_info\{max_lora="2",waiting_lora_adapters="",running_lora_adapters="sql,poems"\} 1\d{9}/,
    ),
  ])
  expect(text).toContain(`vllm:request_queue_time_seconds_bucket{le="1",${labels}} 1`)
})

test('a model that has answered nothing yet has its load', async () => {
  const text = await create(['vllm']).render()
  expect(text).toContain('vllm:num_requests_running{model_name="m",engine="0"} 3')
  expect(text).not.toContain('vllm:kv_cache_usage_perc')
})
