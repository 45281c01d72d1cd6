import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { follow } from '../../../../test/support/discovery/follow.ts'
import { type Pod, sliceOf, startKubernetesApi } from '../../../../test/support/discovery/kubernetes-api.ts'
import { endpointsOfSlices } from './endpoint-slices.ts'
import { kubernetesSource } from './kubernetes-source.ts'

const hasOpenssl = runs('openssl', 'version')
const opensslHint = hasOpenssl ? '' : ' (skipped: there is no openssl)'

function runs(program: string, argument: string): boolean {
  try {
    execFileSync(program, [argument], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const ready: Pod = { ip: '10.0.0.1' }

async function open(...slices: readonly ReturnType<typeof sliceOf>[]) {
  const api = await startKubernetesApi()
  api.put(...slices)
  const warnings: string[] = []
  const warn = (message: string) => void warnings.push(message)
  const given = { api: api.origin, of: { service: 'vllm' }, namespace: 'llm', port: 'http', path: '/v1', retryMs: 20 }
  const following = follow(kubernetesSource({ ...given, warn }))
  const watched = () => following.until(() => api.watches() === 1)
  return { api, warnings, watched, ...following }
}

test('the ready pods of all slices, of all pages of the list', async () => {
  const slices = [1, 2, 3, 4, 5].map((n) => sliceOf(`vllm-${n}`, [{ ip: `10.0.0.${n}` }]))
  const { api, urls } = await open(...slices)
  expect(await urls()).toEqual([1, 2, 3, 4, 5].map((n) => `http://10.0.0.${n}:8000/v1`))
  expect(api.lists()).toBe(3)
  expect(api.seen[0]?.path).toBe('/apis/discovery.k8s.io/v1/namespaces/llm/endpointslices')
  expect(api.seen[0]?.query.get('labelSelector')).toBe('kubernetes.io/service-name=vllm')
})

test('a pod that is ready, terminates and is gone; another slice comes and goes', async () => {
  const { api, heard, urls, watched, changed, until } = await open(sliceOf('vllm-1', [{ ip: '10.0.0.1', ready: false }]))
  expect(await urls()).toEqual([])
  await watched()
  const after = async (act: () => void) => {
    const next = changed()
    act()
    await next
    return urls()
  }
  expect(await after(() => api.put(sliceOf('vllm-1', [ready])))).toEqual(['http://10.0.0.1:8000/v1'])
  expect(await after(() => api.put(sliceOf('vllm-2', [{ ip: '10.0.0.2' }])))).toHaveLength(2)
  const terminating = { ip: '10.0.0.1', ready: false, serving: true, terminating: true }
  expect(await after(() => api.put(sliceOf('vllm-1', [terminating])))).toEqual(['http://10.0.0.2:8000/v1'])
  expect(await after(() => api.put(sliceOf('vllm-1', [])))).toEqual(['http://10.0.0.2:8000/v1'])
  expect(await after(() => api.remove('vllm-2'))).toEqual([])
  await until(() => heard.failures.length === 0)
  expect(api.lists()).toBe(1)
})

test('a watch that breaks in the middle of a line is continued from the last bookmark', async () => {
  const { api, urls, changed, watched, until } = await open(sliceOf('vllm-1', [ready]))
  await urls()
  await watched()
  api.bookmark()
  api.cut()
  await until(() => api.seen.length === 3)
  api.put(sliceOf('vllm-1', [ready, { ip: '10.0.0.2' }]))
  await changed()
  expect(await urls()).toHaveLength(2)
  expect(api.lists()).toBe(1)
  expect(api.seen.at(-1)?.query.get('resourceVersion')).toBe('108')
  expect(api.seen.at(-1)?.query.get('allowWatchBookmarks')).toBe('true')
})

test('a version that the server has forgotten (410) is followed by another list', async () => {
  const { api, heard, urls, changed, watched, until } = await open(sliceOf('vllm-1', [ready]))
  await urls()
  await watched()
  api.forget(sliceOf('vllm-9', [{ ip: '10.0.0.9' }]))
  const next = changed()
  api.cut()
  await next
  expect(await urls()).toEqual(['http://10.0.0.9:8000/v1'])
  await until(() => api.watches() === 1)
  expect(api.lists()).toBe(2)
  expect(heard.failures).toEqual([])
})

test('an API server that refuses or is away keeps the set', async () => {
  const { api, heard, warnings, urls, watched, changed, until } = await open(sliceOf('vllm-1', [ready]))
  await urls()
  await watched()
  api.refuse(403)
  api.cut()
  await until(() => warnings.length > 0)
  expect(warnings[0]).toContain("the pod's service account needs `list` and `watch` for `endpointslices`")
  expect(heard.sets).toHaveLength(1)
  api.refuse(undefined)
  api.put(sliceOf('vllm-1', []))
  await changed()
  expect(heard.sets.at(-1)).toEqual([])
})

test('a role that may list but not watch is one warning, and lists come ever later', async () => {
  const api = await startKubernetesApi()
  api.put(sliceOf('vllm-1', [ready]))
  api.forbidWatching()
  const warnings: string[] = []
  const warn = (message: string) => void warnings.push(message)
  const waits: number[] = []
  // Called for the wait after each failure.
  const random = () => waits.push(performance.now()) && 1
  const given = { api: api.origin, of: { service: 'vllm' }, namespace: 'llm', port: 'http', path: '/v1', retryMs: 20 }
  const { urls, until } = follow(kubernetesSource({ ...given, warn, random }))
  expect(await urls()).toEqual(['http://10.0.0.1:8000/v1'])
  await until(() => waits.length === 5)
  expect(warnings).toEqual([expect.stringContaining('needs `list` and `watch`')])
  const [first = 0, , , fourth = 0, fifth = 0] = waits
  // 20 ms, 40, 80, then 160.
  expect(fifth - fourth).toBeGreaterThan(150)
  expect(fourth - first).toBeGreaterThan(130)
})

test('a port that the Service says is HTTPS, by name or number, is reached so', () => {
  const slice = sliceOf('a', [ready], { appProtocol: 'https' })
  for (const port of ['http', 8000])
    expect(endpointsOfSlices([slice], { port, path: '/v1' })).toEqual([{ url: 'https://10.0.0.1:8000/v1', weight: 1 }])
  expect(endpointsOfSlices([slice], { port: 9000, path: '' })).toEqual([{ url: 'http://10.0.0.1:9000', weight: 1 }])
})

test('the certificate of a port that speaks HTTPS names the Service, unless another name is set', async () => {
  const api = await startKubernetesApi()
  api.put(sliceOf('a', [ready], { appProtocol: 'https' }))
  const given = { api: api.origin, namespace: 'llm', port: 'http', path: '/v1', warn: () => undefined }
  const found = async (options: Pick<Parameters<typeof kubernetesSource>[0], 'of' | 'serverName'>) => {
    const { heard, urls } = follow(kubernetesSource({ ...given, ...options }))
    await urls()
    return heard.sets[0]
  }
  const url = 'https://10.0.0.1:8000/v1'
  expect(await found({ of: { service: 'vllm' } })).toEqual([{ url, weight: 1, serverName: 'vllm.llm.svc' }])
  expect(await found({ of: { service: 'vllm' }, serverName: 'gpu' })).toEqual([{ url, weight: 1, serverName: 'gpu' }])
  expect(await found({ of: { selector: 'kubernetes.io/service-name=vllm' } })).toEqual([{ url, weight: 1 }])
})

test('the slices of all Services with some labels', async () => {
  const api = await startKubernetesApi()
  const labelled = (name: string, ip: string, app: string) => {
    const slice = sliceOf(name, [{ ip }])
    return { ...slice, metadata: { ...slice.metadata, labels: { ...slice.metadata.labels, app } } }
  }
  api.put(labelled('a', '10.0.0.1', 'vllm'), labelled('b', '10.0.0.2', 'vllm'), labelled('c', '10.0.0.3', 'web'))
  const warnings: string[] = []
  const warn = (message: string) => void warnings.push(message)
  const given = { api: api.origin, namespace: 'llm', port: 'http', path: '', warn }
  expect(await follow(kubernetesSource({ ...given, of: { selector: 'app=vllm' } })).urls()).toHaveLength(2)
  expect(await follow(kubernetesSource({ ...given, of: { selector: 'app=tgi' } })).urls()).toEqual([])
  expect(warnings).toEqual(["kubernetes: the namespace llm has no EndpointSlice with the labels 'app=tgi'"])
})

test.each<{ name: string; pods: readonly Pod[]; zone?: string; far: readonly string[] }>([
  {
    name: 'those of its zone',
    zone: 'a',
    pods: [
      { ip: '10.0.0.1', zone: 'a' },
      { ip: '10.0.0.2', zone: 'b' },
    ],
    far: ['10.0.0.2'],
  },
  { name: 'all, where none is in its zone', zone: 'c', pods: [{ ip: '10.0.0.1', zone: 'a' }], far: [] },
  { name: 'all, where its zone is not known', pods: [{ ip: '10.0.0.1', zone: 'a' }], far: [] },
  {
    name: 'those that Kubernetes gives its zone, wherever they are',
    zone: 'a',
    pods: [
      { ip: '10.0.0.1', zone: 'a', forZones: ['b'] },
      { ip: '10.0.0.2', zone: 'b', forZones: ['a', 'c'] },
    ],
    far: ['10.0.0.1'],
  },
  {
    name: 'those of its zone, where some have no hints',
    zone: 'a',
    pods: [
      { ip: '10.0.0.1', zone: 'a', forZones: ['b'] },
      { ip: '10.0.0.2', zone: 'b' },
    ],
    far: ['10.0.0.2'],
  },
])('near for a process: $name', ({ pods, zone, far }) => {
  const found = endpointsOfSlices([sliceOf('s', pods)], { port: 'http', path: '', ...(zone !== undefined && { zone }) })
  expect(found.flatMap(({ url, isFar }) => (isFar === true ? [new URL(url).hostname] : []))).toEqual(far)
})

test('a Service without slices is named, since it may be misspelt', async () => {
  const { warnings, urls } = await open()
  expect(await urls()).toEqual([])
  expect(warnings).toEqual(["kubernetes: the namespace llm has no EndpointSlice of a Service 'vllm'"])
})

test('outside of a pod, what is missing is named', async () => {
  const folder = await podFolder()
  const noApi = follow(kubernetesSource({ of: { service: 'a' }, port: 1, path: '', folder, env: {}, warn: () => undefined }))
  await noApi.until(() => noApi.heard.failures.length > 0)
  expect(noApi.heard.failures[0]).toBe('kubernetes: a: this process does not run in a pod: set `kubernetes.api`')
  await rm(join(folder, 'namespace'))
  const given = { api: 'http://127.0.0.1:9', of: { service: 'a' }, port: 1, path: '', folder, warn: () => undefined }
  const noNamespace = follow(kubernetesSource(given))
  await noNamespace.until(() => noNamespace.heard.failures.length > 0)
  expect(noNamespace.heard.failures[0]).toContain('set `kubernetes.namespace`')
})

test("in a pod, the namespace is the pod's, and the token stays away from plain HTTP", async () => {
  const api = await startKubernetesApi()
  api.put(sliceOf('vllm-1', [ready]))
  const source = kubernetesSource({
    of: { service: 'vllm' },
    port: 'http',
    path: '',
    api: api.origin,
    folder: await podFolder(),
    warn: () => undefined,
  })
  expect(await follow(source).urls()).toHaveLength(1)
  expect(api.seen[0]).toMatchObject({ path: expect.stringContaining('/namespaces/own/'), authorization: undefined })
})

test.skipIf(!hasOpenssl)(`the pod's certificate and token are used, and read again${opensslHint}`, async () => {
  const folder = await podFolder()
  const files = { key: join(folder, 'key.pem'), cert: join(folder, 'ca.crt') }
  const subject = ['-subj', '/CN=api', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2']
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', files.key, '-out', files.cert, ...subject],
    {
      stdio: 'ignore',
    },
  )
  const api = await startKubernetesApi({ key: await readFile(files.key), cert: await readFile(files.cert) })
  api.put(sliceOf('vllm-1', [ready]))
  const { hostname, port } = new URL(api.origin)
  const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port }
  const given = { of: { service: 'vllm' }, port: 'http', path: '', folder, env, warn: () => undefined }
  const { urls, until } = follow(kubernetesSource(given))
  expect(await urls()).toHaveLength(1)
  await until(() => api.watches() === 1)
  await writeFile(join(folder, 'token'), 'renewed\n')
  api.cut()
  await until(() => api.seen.length === 3)
  expect(api.seen.map(({ authorization }) => authorization)).toEqual(['Bearer secret', 'Bearer secret', 'Bearer renewed'])
})

async function podFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-pod-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'namespace'), 'own\n')
  await writeFile(join(folder, 'token'), 'secret\n')
  return folder
}

test('a port by number, by name, and the only one', () => {
  const slices = [sliceOf('a', [ready])]
  const urls = (port: string | number | undefined) => endpointsOfSlices(slices, { port, path: '' }).map(({ url }) => url)
  expect(urls(1234)).toEqual(['http://10.0.0.1:1234'])
  expect(urls('metrics')).toEqual(['http://10.0.0.1:9000'])
  expect(() => urls(undefined)).toThrow('the Service has several ports; it has: http, metrics. Set `port`')
  expect(() => urls('grpc')).toThrow("the Service has no port 'grpc'; it has: http, metrics. Set `port`")
})

test('a pod with addresses of both kinds, or in two slices, is one server', () => {
  const slices = [
    sliceOf('a', [ready]),
    sliceOf('b', [ready, { ip: '10.0.0.2' }]),
    sliceOf('c', [{ ip: 'fd00::1' }], { addressType: 'IPv6' }),
  ]
  expect(endpointsOfSlices(slices, { port: 'http', path: '' })).toHaveLength(2)
  expect(endpointsOfSlices(slices.slice(2), { port: 'http', path: '' })).toEqual([{ url: 'http://[fd00::1]:8000', weight: 1 }])
})
