import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { loadConfig } from '../src/config/load.ts'
import { installedFrom } from './support/process/test-tools.ts'

const deploy = fileURLToPath(new URL('../deploy/', import.meta.url))
const read = (name: string) => readFileSync(join(deploy, name), 'utf8')
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const judges = installedFrom('deploy-tools', new URL('deploy/requirements.txt', import.meta.url))
const areJudges = existsSync(judges)
const hint = areJudges ? '' : ' (skipped: run `npm run deploy-tools`)'
const folder = mkdtempSync(join(tmpdir(), 'dragoman-deploy-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs a judge of Python, and returns what it finds. */
function judge(...args: string[]): string {
  const env = { ...process.env, PYTHONPATH: judges, PYTHONDONTWRITEBYTECODE: '1', PYTHONWARNINGS: 'ignore' }
  const { status, stdout, stderr } = spawnSync('python3', ['-m', ...args], { env, encoding: 'utf8' })
  return status === 0 ? '' : `${stdout}${stderr}`
}

/** Holds manifests against the schemas of Kubernetes, in which nothing unknown passes. */
function validate(manifests: string): string {
  const file = join(folder, 'manifests.yaml')
  writeFileSync(file, manifests)
  return judge('kubernetes_validate', '--strict', '--quiet', file)
}

/** Holds a compose file against the schema that docker-compose has. */
function problemsOf(compose: unknown): string {
  const file = join(folder, 'compose.json')
  writeFileSync(file, JSON.stringify(compose))
  return judge('jsonschema', '--instance', file, join(judges, 'compose', 'config', 'compose_spec.json'))
}

async function accepted(config: string) {
  const file = join(folder, 'dragoman.yaml')
  writeFileSync(file, config)
  return loadConfig({ flags: { config: file }, env: {}, cwd: folder, userHome: folder })
}

/** Values that use all of the chart. */
const everything = {
  discovery: { namespaces: ['models', 'more-models'], inferencePools: true, preferZone: true },
  autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 9, cpuPercent: 60 },
  serviceMonitor: { enabled: true, interval: '15s', labels: { release: 'prometheus' } },
  networkPolicy: { from: [{ namespaceSelector: { matchLabels: { team: 'apps' } } }] },
  ingress: { host: 'llm.example.com', className: 'nginx', tlsSecret: 'llm-tls', annotations: { a: 'b' } },
  podAnnotations: { 'example.com/a': 'b' },
  affinity: { podAntiAffinity: {} },
  priorityClassName: 'high',
  imagePullSecrets: [{ name: 'registry' }],
  extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
  extraVolumes: [{ name: 'more', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'more', mountPath: '/more' }],
}

type Manifest = { kind: string; metadata: { name: string }; spec: Record<string, never>; data: Record<string, string> }
const chartFolder = join(deploy, 'helm', 'dragoman')
const helm = (...args: string[]) => spawnSync(join(judges, 'bin', 'helm'), args, { encoding: 'utf8' })

function helmTemplate({ release, values = {} }: { release: string; values?: Record<string, unknown> }) {
  const file = join(folder, 'values.yaml')
  writeFileSync(file, stringify(values))
  return helm('template', release, chartFolder, '--values', file)
}

/** The objects that Helm makes of the chart. */
function chart(options: { release: string; values?: Record<string, unknown> }) {
  const { status, stdout, stderr } = helmTemplate(options)
  if (status !== 0) throw new Error(`helm: ${stderr}`)
  return parseAllDocuments(stdout).map((document) => ({ text: String(document), object: document.toJS() }))
}

const byKind = (objects: readonly Manifest[]) => Object.fromEntries(objects.map((object) => [object.kind, object]))
const base = byKind(['deployment', 'service', 'disruption-budget'].map((name) => parse(read(`kubernetes/${name}.yaml`))))

describe('Kubernetes', () => {
  test.skipIf(!areJudges)(`the manifests for kustomize are valid${hint}`, () => {
    const manifests = Object.values(base).map((object) => stringify(object))
    expect(validate(manifests.join('---\n'))).toBe('')
    expect(validate(stringify(base.Deployment).replace('replicas:', 'replica:'))).toContain('replica')
  })

  const kubectl = spawnSync('kubectl', ['version', '--client']).status === 0
  test.skipIf(!kubectl || !areJudges)(`kubectl renders them${kubectl ? hint : ' (skipped: there is no kubectl)'}`, () => {
    const rendered = execFileSync('kubectl', ['kustomize', join(deploy, 'kubernetes')], { encoding: 'utf8' })
    expect(validate(rendered)).toBe('')
    const objects = byKind(parseAllDocuments(rendered).map((document) => document.toJS()))
    expect(Object.keys(objects).sort()).toEqual(['ConfigMap', 'Deployment', 'PodDisruptionBudget', 'Service'])
    expect(objects.ConfigMap?.data['dragoman.yaml']).toBe(read('kubernetes/dragoman.yaml'))
    expect(stringify(objects.Deployment)).toContain(`image: dragoman-gateway:${version}`)
  })

  test.skipIf(!areJudges).each<[string, Record<string, unknown>]>([
    ['as it comes', {}],
    [
      'with a service account, places and limits',
      { serviceAccount: 'finder', nodeSelector: { zone: 'a' }, tolerations: [{ key: 'x', operator: 'Exists' }] },
    ],
    ['with everything that it has', everything],
  ])(`the chart is valid %s${hint}`, (_, values) => {
    // The schemas are those of Kubernetes: what the operator of Prometheus adds is not among them.
    const texts = chart({ release: 'llm', values }).filter(({ object }) => object.kind !== 'ServiceMonitor')
    expect(validate(texts.map(({ text }) => text).join('\n---\n'))).toBe('')
  })

  test.skipIf(!areJudges)(`the chart makes what its values ask for, and nothing else${hint}`, () => {
    const kindsOf = (values: Record<string, unknown>) => chart({ release: 'llm', values }).map(({ object }) => object.kind)
    const always = ['ConfigMap', 'Deployment', 'Pod', 'PodDisruptionBudget', 'Service']
    expect(kindsOf({}).toSorted()).toEqual(always)
    const asked = ['HorizontalPodAutoscaler', 'Ingress', 'NetworkPolicy', 'Role', 'Role', 'RoleBinding', 'RoleBinding']
    expect(kindsOf(everything).toSorted()).toEqual([...always, ...asked, 'ServiceAccount', 'ServiceMonitor'].toSorted())
  })

  test.skipIf(!areJudges)(
    `the account of the chart may read what discovery watches, in the namespaces that are named${hint}`,
    () => {
      const objects = chart({ release: 'llm', values: everything }).map(({ object }) => object)
      const roles = objects.filter(({ kind }) => kind === 'Role')
      expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(['models', 'more-models'])
      const rule = (apiGroup: string, resource: string) => ({
        apiGroups: [apiGroup],
        resources: [resource],
        verbs: ['list', 'watch'],
      })
      const [slices, pools] = [rule('discovery.k8s.io', 'endpointslices'), rule('inference.networking.k8s.io', 'inferencepools')]
      for (const role of roles) expect(role.rules).toEqual([slices, pools, rule('', 'pods')])
      const fewer = chart({
        release: 'llm',
        values: { discovery: { namespaces: ['models'], inferencePools: false, preferZone: false } },
      }).map(({ object }) => object)
      expect(fewer.find(({ kind }) => kind === 'Role')?.rules).toEqual([slices])
      const zoned = [objects, fewer].map((all) => JSON.stringify(all).includes('DRAGOMAN_ZONE'))
      expect(zoned).toEqual([true, false])
      const pod = objects.find(({ kind }) => kind === 'Deployment')?.spec.template.spec
      expect(pod.serviceAccountName).toBe('llm')
      expect(pod.automountServiceAccountToken).toBeUndefined()
    },
  )

  test.skipIf(!areJudges)(
    `Prometheus asks with the admin key, and an autoscaler alone decides how many pods there are${hint}`,
    () => {
      const objects = byKind(chart({ release: 'llm', values: everything }).map(({ object }) => object))
      const [endpoint] = (objects.ServiceMonitor as never as { spec: { endpoints: Record<string, unknown>[] } }).spec.endpoints
      expect(endpoint).toMatchObject({
        path: '/metrics',
        authorization: { credentials: { name: 'dragoman', key: 'DRAGOMAN_ADMIN_KEY' } },
      })
      expect(objects.Deployment?.spec.replicas).toBeUndefined()
      expect(chart({ release: 'llm' }).find(({ object }) => object.kind === 'Deployment')?.object.spec.replicas).toBe(2)
    },
  )

  test.skipIf(!areJudges)(`Helm finds no fault in the chart${hint}`, () => {
    const { status, stdout } = helm('lint', '--strict', chartFolder)
    expect({ status, faults: stdout.match(/\[(?:WARNING|ERROR)\].*/g) }).toEqual({ status: 0, faults: null })
  })

  test.skipIf(!areJudges).each<[string, Record<string, unknown>]>([
    ['replica', { replica: 3 }],
    ['replicas', { replicas: 'two' }],
    ['enable', { autoscaling: { enable: true } }],
    ['config', { config: 3 }],
    ['secret', { secret: '' }],
  ])(`Helm refuses values that the chart does not have: %s${hint}`, (name, values) => {
    const { status, stderr } = helmTemplate({ release: 'llm', values })
    expect(status).not.toBe(0)
    expect(stderr).toContain(name)
  })

  test.skipIf(!areJudges)(`the chart runs pods as the manifests for kustomize do${hint}`, () => {
    const { Deployment } = byKind(chart({ release: 'dragoman' }).map(({ object }) => object))
    const podOf = (deployment: unknown) => {
      const { spec } = (deployment as { spec: { template: { spec: Record<string, unknown> } } }).spec.template
      const { nodeSelector: _, tolerations: __, topologySpreadConstraints: ___, containers, ...pod } = spec
      const [{ image: ____, imagePullPolicy: _____, ...container }] = containers as [Record<string, unknown>]
      return { ...pod, container }
    }
    expect(podOf(Deployment)).toEqual(podOf(base.Deployment))
    expect(stringify(Deployment)).toContain(`image: dragoman-gateway:${version}`)
  })

  test.skipIf(!areJudges)(`their configurations are accepted, and pods have longer to end than requests${hint}`, async () => {
    const [configMap] = chart({ release: 'dragoman' }).filter(({ object }) => object.kind === 'ConfigMap')
    for (const text of [read('kubernetes/dragoman.yaml'), configMap?.object.data['dragoman.yaml']]) {
      const { server } = await accepted(text)
      const graceMs = (base.Deployment as never as { spec: { template: { spec: { terminationGracePeriodSeconds: number } } } })
        .spec.template.spec
      expect(graceMs.terminationGracePeriodSeconds * 1000).toBeGreaterThan(server.drainDelayMs + server.shutdownGraceMs)
    }
  })
})

describe('compose', () => {
  test.skipIf(!areJudges)(`the file follows the schema of compose files${hint}`, () => {
    const compose = parse(read('compose.yaml'))
    expect(problemsOf(compose)).toBe('')
    expect(problemsOf({ ...compose, services: { dragoman: { imagee: 'x' } } })).toContain('imagee')
  })

  test('each file that it mounts is there, and each volume and secret is declared', () => {
    const { services, volumes, secrets } = parse(read('compose.yaml'))
    const mounts: string[] = Object.values<{ volumes?: string[] }>(services).flatMap((service) => service.volumes ?? [])
    for (const mount of mounts) {
      const [source = ''] = mount.split(':')
      expect(source.startsWith('./') ? existsSync(join(deploy, source)) : source in volumes, mount).toBe(true)
    }
    for (const service of Object.values<{ secrets?: string[] }>(services))
      for (const name of service.secrets ?? []) expect(secrets).toHaveProperty(name)
  })

  test('its configuration is accepted, and Prometheus asks for what Dragoman listens on', async () => {
    await accepted(read('compose/dragoman.yaml'))
    const [scrape] = parse(read('prometheus/prometheus.yaml')).scrape_configs
    expect(scrape).toMatchObject({ job_name: 'dragoman', static_configs: [{ targets: ['dragoman:7411'] }] })
  })
})

describe('systemd', () => {
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
  const why = hasSystemd ? '' : ' (skipped: there is no systemd-analyze)'

  test.skipIf(!hasSystemd)(`the unit, with and without what server tools need, is correct, and exposes little${why}`, () => {
    const unit = join(folder, 'dragoman.service')
    // Where Dragoman is not installed, its program is not there.
    writeFileSync(unit, read('systemd/dragoman.service').replace('/usr/local/bin/dragoman', process.execPath))
    const analyze = (...args: string[]) =>
      spawnSync('systemd-analyze', args, { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } })
    expect(analyze('verify', '--man=no', unit)).toMatchObject({ status: 0, stderr: '' })
    const security = analyze('security', '--offline=true', '--threshold=20', '--no-pager', unit)
    expect(security.stdout).toMatch(/Overall exposure level for dragoman\.service: 1\.\d OK/)
    expect(security.status).toBe(0)
    const together = join(folder, 'with-tools.service')
    writeFileSync(together, `${readFileSync(unit, 'utf8')}\n${read('systemd/server-tools.conf')}`)
    expect(analyze('verify', '--man=no', together)).toMatchObject({ status: 0, stderr: '' })
  })
})

const hasRuby = spawnSync('ruby', ['--version']).status === 0
test.skipIf(!hasRuby)(`the formula for Homebrew is Ruby${hasRuby ? '' : ' (skipped: there is no ruby)'}`, () => {
  execFileSync('ruby', ['-c', join(deploy, 'homebrew', 'dragoman.rb')], { stdio: 'pipe' })
})
