import { describe, expect, test } from 'vitest'
import { readMetrics, readSlots } from './running-requests.ts'

describe('what a server says of its requests', () => {
  test.each([
    ['no slot is busy', '[{"id":0,"is_processing":false}]', 0],
    ['some are', '[{"id":0,"is_processing":true},{"id":1,"is_processing":false},{"id":2,"is_processing":true}]', 2],
    ['no slots at all', '[]', undefined],
    ['other entries', '[{"id":0}]', undefined],
    ['an object', '{"is_processing":true}', undefined],
    ['a page', '<html>', undefined],
  ])('slots: %s', (_, text, count) => {
    expect(readSlots(text)).toEqual(count === undefined ? undefined : { count, isLate: false })
  })

  test.each([
    [
      'vLLM, two engines',
      '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0",model_name="a{b}"} 1.0\nvllm:num_requests_running{engine="1"} 2.0\nvllm:num_requests_waiting{engine="0"} 0.0\n',
      { count: 3, isLate: false },
    ],
    ['llama-server', 'llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\n', { count: 1, isLate: false }],
    ['SGLang', 'sglang:num_running_reqs{model_name="m"} 1.0\n', { count: 1, isLate: true }],
    ['another server', 'process_cpu_seconds_total 4\nrequests_running 1\n', undefined],
    ['a comment', '# vllm:num_requests_running 1\n', undefined],
    ['nothing', '', undefined],
  ])('metrics: %s', (_, text, wanted) => {
    expect(readMetrics(text)).toEqual(wanted)
  })
})
