import { expect, test } from 'vitest'
import { follow } from '../../../../test/support/discovery/follow.ts'
import {
  inferencePool,
  type KubernetesObject,
  podOf,
  startKubernetesApi,
} from '../../../../test/support/discovery/kubernetes-api.ts'
import { kubernetesSource } from './kubernetes-source.ts'

async function open(...objects: readonly KubernetesObject[]) {
  const api = await startKubernetesApi()
  api.put(...objects)
  const warnings: string[] = []
  const warn = (message: string) => void warnings.push(message)
  const given = { api: api.origin, of: { inferencePool: 'qwen' }, namespace: 'llm', port: undefined, path: '/v1', retryMs: 20 }
  const following = follow(kubernetesSource({ ...given, zone: 'a', warn }))
  const after = async (act: () => void) => {
    const next = following.changed()
    act()
    await next
    return await following.urls()
  }
  return { api, warnings, after, ...following }
}

test('the ready pods that the pool selects, at each of its ports', async () => {
  const other = { ...podOf('10.0.0.4'), metadata: { name: 'other', resourceVersion: '', labels: { app: 'web' } } }
  const pods = [podOf('10.0.0.1'), podOf('10.0.0.2', { ready: false }), podOf('10.0.0.3', { leaves: true }), other]
  const { api, heard, urls, until, after } = await open(inferencePool('qwen', [8000, 8001]), inferencePool('other', [1]), ...pods)
  expect(await urls()).toEqual(['http://10.0.0.1:8000/v1', 'http://10.0.0.1:8001/v1'])
  expect(new Set(api.seen.map(({ path }) => path))).toEqual(
    new Set(['/apis/inference.networking.k8s.io/v1/namespaces/llm/inferencepools', '/api/v1/namespaces/llm/pods']),
  )
  await until(() => api.watches() === 2)
  expect(await after(() => api.put(podOf('10.0.0.2')))).toHaveLength(4)
  const sets = heard.sets.length
  // A change that is none of its address.
  api.put({ ...podOf('10.0.0.2'), kind: 'Pod' })
  expect(await after(() => api.remove('vllm-10.0.0.1'))).toEqual(['http://10.0.0.2:8000/v1', 'http://10.0.0.2:8001/v1'])
  expect(heard.sets).toHaveLength(sets + 1)
})

test('a pool that changes, is deleted and comes back', async () => {
  const { api, warnings, until, urls, after } = await open(inferencePool('qwen', [8000]), podOf('10.0.0.1'))
  expect(await urls()).toEqual(['http://10.0.0.1:8000/v1'])
  await until(() => api.watches() === 2)
  expect(await after(() => api.put(inferencePool('qwen', [9000])))).toEqual(['http://10.0.0.1:9000/v1'])
  await until(() => api.watches() === 2)
  expect(await after(() => api.remove('qwen'))).toEqual([])
  expect(warnings).toEqual(["kubernetes: the namespace llm has no InferencePool 'qwen'"])
  await until(() => api.watches() === 1)
  expect(await after(() => api.put(inferencePool('qwen', [8000])))).toEqual(['http://10.0.0.1:8000/v1'])
})

test('pods in other zones are far', async () => {
  const { heard, urls } = await open(
    inferencePool('qwen', [8000]),
    podOf('10.0.0.1', { zone: 'a' }),
    podOf('10.0.0.2', { zone: 'b' }),
  )
  await urls()
  expect(heard.sets.at(-1)?.map(({ isFar }) => isFar)).toEqual([undefined, true])
})

test.each([
  {
    status: 403,
    reason: "the pod's service account needs `list` and `watch` for `inferencepools` of `inference.networking.k8s.io`",
  },
  { status: 404, reason: 'the API server answers 404: it has no `inferencepools` of `inference.networking.k8s.io`' },
  { status: 400, reason: 'the API server answers 400: no' },
])('an API server that answers $status says what it lacks', async ({ status, reason }) => {
  const { api, warnings, until } = await open()
  await until(() => api.watches() === 1)
  warnings.length = 0
  api.refuse(status)
  api.cut()
  await until(() => warnings.length > 0)
  expect(warnings[0]).toContain(reason)
})

test('a pool without labels would be all pods, and is refused', async () => {
  const { warnings, heard, until } = await open(inferencePool('qwen', [8000], {} as never), podOf('10.0.0.1'))
  await until(() => warnings.length > 0)
  expect(warnings[0]).toContain('the InferencePool has no `spec.selector.matchLabels` or no `spec.targetPorts`')
  expect(heard.sets).toEqual([])
})
