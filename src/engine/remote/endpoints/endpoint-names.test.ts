import { expect, test } from 'vitest'
import { until } from '../../../../test/support/http/app.ts'
import { answer, ask, engineOver, fine, upstream } from '../../../../test/support/upstream/remote-engine.ts'

test('replicas may have names of their own for one model', async () => {
  const servers = [await upstream(fine), await upstream(fine), await upstream(fine)]
  const names = [undefined, 'qwen3:8b', 'other']
  const endpoints = servers.map(({ url }, at) => {
    const upstreamModel = names[at]
    return { url, weight: 1, ...(upstreamModel !== undefined && { upstreamModel }) }
  })
  const engine = engineOver([], { endpoints, upstreamModel: 'Qwen/Qwen3-8B' })
  await until(async () => {
    await answer(engine, ask(`question ${Math.random()}`))
    return servers.every(({ seen }) => seen.length > 0)
  })
  const sent = servers.map(({ seen }) => [...new Set(seen.map(({ body }) => body.model))])
  expect(sent).toEqual([['Qwen/Qwen3-8B'], ['qwen3:8b'], ['other']])
  expect(engine.capabilities.fleet?.replicas().map(({ found }) => found?.model)).toEqual(['Qwen/Qwen3-8B', 'qwen3:8b', 'other'])
})
