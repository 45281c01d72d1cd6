import { expect, test } from 'vitest'
import { reportInHeaders, reportInMetrics } from './load-report.ts'

test.each<[unknown, unknown]>([
  ['TEXT named_metrics.kv_cache_usage_perc=0.4, named_metrics.num_requests_waiting=3.0', { waiting: 3, cacheUse: 0.4 }],
  ['TEXT named_metrics.num_requests_waiting=0.0', { waiting: 0 }],
  ['TEXT cpu_utilization=0.3,named_metrics.num_requests_waiting=12', { waiting: 12 }],
  ['TEXT named_metrics.kv_cache_usage_perc=0.4', undefined],
  ['TEXT named_metrics.num_requests_waiting=nan', undefined],
  ['TEXT named_metrics.num_requests_waiting=-1', undefined],
  ['TEXT ', undefined],
  ['JSON {"named_metrics": {"num_requests_waiting": 3.0}}', undefined],
  [undefined, undefined],
])('the header %j says %j', (header, report) => {
  expect(reportInHeaders({ 'endpoint-load-metrics': header })).toEqual(report)
})

test('metrics of a server with two engines are its sums, and the fuller memory', () => {
  const lines = [0, 1].flatMap((engine) => [
    `vllm:num_requests_running{engine="${engine}",model_name="a b"} ${engine + 2}.0`,
    `vllm:num_requests_waiting{engine="${engine}",model_name="a b"} ${engine}.0`,
    `vllm:num_requests_waiting_by_reason{engine="${engine}",reason="capacity"} 7.0`,
    `vllm:kv_cache_usage_perc{engine="${engine}"} 0.${engine + 5}`,
  ])
  expect(reportInMetrics(lines)).toEqual({ running: 5, waiting: 1, cacheUse: 0.6 })
  expect(reportInMetrics(['vllm:num_requests_waiting 2.0'])).toEqual({ waiting: 2 })
  expect(reportInMetrics(['# HELP vllm:num_requests_waiting 3'])).toBeUndefined()
})
