import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstAnswer, scriptedConfig } from '../../support/process/installed-server.ts'
import { keepBundles, npmPackage } from '../../support/process/packed.ts'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'dragoman-release-'))
const out = join(folder, 'out')
const home = join(folder, 'home')
const platform = `${process.platform}-${process.arch}`
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const name = `dragoman-${version}-${platform}`

const hasBubblewrap = spawnSync('bwrap', ['--version']).status === 0
const isPrepared = npmPackage !== undefined && readdirSync(join(root, '.cache')).includes('node-24.21.0')
const reason = hasBubblewrap ? (isPrepared ? '' : ' (skipped: run `npm run packed`)') : ' (skipped: there is no bubblewrap)'

/** All that a machine has to have, besides a shell. */
const programs = [
  'awk',
  'cat',
  'chmod',
  'curl',
  'cut',
  'dirname',
  'gzip',
  'ln',
  'ls',
  'mkdir',
  'mktemp',
  'mv',
  'readlink',
  'rm',
  'sh',
  'sha256sum',
  'tar',
  'uname',
]

describe.skipIf(reason !== '')(`a release${reason}`, () => {
  const server = { url: '', close: () => Promise.resolve() }
  /** Which file is sent in place of another. */
  const exchanged = new Map<string, string>()

  beforeAll(async () => {
    const tarball = ['scripts/tarball.mjs', '--out', out, '--repository', 'someone/dragoman', platform]
    // npm's lists lack what is bundled where this is for production, unless they are asked for it.
    const env = { ...process.env, NODE_ENV: 'production' }
    await keepBundles(() => run(process.execPath, tarball, { cwd: root, env }))
    mkdirSync(home)
    writeFileSync(join(home, 'dragoman.yaml'), scriptedConfig)
    mkdirSync(join(folder, 'bin'))
    for (const program of programs) {
      const [path = ''] = ['/usr/bin', '/bin'].map((place) => join(place, program)).filter(existsSync)
      writeFileSync(join(folder, 'bin', program), `#!/bin/sh\nexec ${path} "$@"\n`, { mode: 0o755 })
    }
    const { origin, close } = await listenOnLoopback((request, response) => {
      const file = request.url?.slice(1) ?? ''
      const path = join(out, exchanged.get(file) ?? file)
      response.writeHead(existsSync(path) ? 200 : 404).end(existsSync(path) ? readFileSync(path) : '')
    })
    Object.assign(server, { url: origin, close })
  })
  afterAll(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** A machine without Node.js, whose only writable folder is an empty HOME. */
  function onBareMachine(command: readonly string[]): string[] {
    const nodes = ['/usr/bin/node', '/usr/local/bin/node', '/usr/bin/npm', '/usr/local/bin/npm'].filter(existsSync)
    const hidden = nodes.flatMap((path) => ['--ro-bind', '/dev/null', path])
    const mounts = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--bind', home, home, ...hidden]
    const env = [
      '--clearenv',
      '--setenv',
      'HOME',
      home,
      '--setenv',
      'PATH',
      join(folder, 'bin'),
      '--setenv',
      'DRAGOMAN_DOWNLOADS',
      server.url,
    ]
    return ['bwrap', ...mounts, ...env, '--die-with-parent', '--chdir', home, ...command]
  }
  const bare = async (script: string) => {
    const [program = '', ...args] = onBareMachine(['sh', '-c', script])
    return run(program, args)
  }
  const installed = () => readdirSync(home, { recursive: true }).filter((path) => String(path).startsWith('.local'))

  test('its checksums are those of its files', async () => {
    const { stdout } = await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: out })
    expect(stdout.trim().split('\n')).toEqual(
      [
        ...['dragoman', 'dragoman-jinja', 'dragoman-grammar'].map((one) => `${one}-${version}.tgz`),
        ...[`${name}.tar.gz`, 'sbom.cdx.json', 'install.sh', 'dragoman.rb'],
      ].map((file) => `${file}: OK`),
    )
  })

  test('its SBOM names what is installed, what is bundled, and the Node.js and the npm of tarballs', () => {
    const { bomFormat, components, dependencies } = JSON.parse(readFileSync(join(out, 'sbom.cdx.json'), 'utf8'))
    const names = components.map(({ purl }: { purl: string }) => decodeURIComponent(purl).replace(/^pkg:npm\/|@[^@]*$/g, ''))
    expect(bomFormat).toBe('CycloneDX')
    expect(names).toEqual(
      expect.arrayContaining(['fastify', 'find-my-way', 'pg', '@modelcontextprotocol/client', 'node-llama-cpp']),
    )
    expect(names).not.toContain('vitest')
    type Component = { readonly name: string; readonly cpe?: string; readonly components?: readonly Component[] }
    const find = (wanted: string): Component | undefined => components.find((one: Component) => one.name === wanted)
    expect(find(`node-${platform}`)?.cpe).toContain(':nodejs:node.js:24.')
    expect(find('npm')?.components?.map((one) => one.name)).toEqual(expect.arrayContaining(['tar', '@npmcli/arborist']))
    // Each has a reference of its own, also in other versions of one package, and what depends on it is named.
    const refsOf = (one: Component & { 'bom-ref'?: string }): unknown[] => [
      one['bom-ref'],
      ...(one.components ?? []).flatMap(refsOf),
    ]
    const refs = components.flatMap(refsOf)
    expect(new Set(refs).size).toBe(refs.length)
    expect(refs).toEqual(expect.arrayContaining(dependencies.flatMap((one: { dependsOn: string[] }) => one.dependsOn)))
  })

  test('its formula names the package and its checksum', () => {
    const formula = readFileSync(join(out, 'dragoman.rb'), 'utf8')
    const sum = /^(\S+) {2}dragoman-[\d.]+\.tgz$/m.exec(readFileSync(join(out, 'SHA256SUMS'), 'utf8'))?.[1]
    expect(formula).toContain(`sha256 "${sum}"`)
    expect(formula).toContain(`url "https://github.com/someone/dragoman/releases/download/v${version}/dragoman-${version}.tgz"`)
    expect(formula).not.toMatch(/@[A-Z_]+@/)
  })

  test('a tarball with another checksum is not installed', async () => {
    exchanged.set(`${name}.tar.gz`, 'sbom.cdx.json')
    const failed = await bare('curl -fsSL $DRAGOMAN_DOWNLOADS/install.sh | sh').catch((error) => error)
    exchanged.clear()
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/the checksum of .* nothing was installed/) })
    expect(installed().filter((path) => String(path).includes(version))).toEqual([])
  })

  test('an install.sh that arrives in part does nothing', async () => {
    const half = readFileSync(join(out, 'install.sh'), 'utf8').replace(/\nmain\n$/, '\n')
    writeFileSync(join(out, 'half.sh'), half)
    expect(await bare('curl -fsSL $DRAGOMAN_DOWNLOADS/half.sh | sh')).toEqual({ stdout: '', stderr: '' })
  })

  test('install.sh needs curl and tar, and its command answers', async () => {
    const { stderr } = await bare('curl -fsSL $DRAGOMAN_DOWNLOADS/install.sh | sh')
    expect(stderr).toContain(`${version} is installed: ${home}/.local/bin/dragoman`)
    expect((await bare('command -v node npm; "$HOME"/.local/bin/dragoman --version')).stdout).toBe(`${version}\n`)
    const [program = '', ...args] = onBareMachine([
      join(home, '.local/bin/dragoman'),
      'serve',
      '--port',
      '0',
      '--config',
      'dragoman.yaml',
    ])
    expect(await firstAnswer([program, ...args], { env: {} })).toBe('Is anybody there?')
    // Again, over what is there: an update does the same.
    await bare('curl -fsSL $DRAGOMAN_DOWNLOADS/install.sh | sh')
    expect(readdirSync(join(home, '.local/lib/dragoman'))).toEqual([version])
  })

  describe('the image', () => {
    const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')
    const [, gateway = ''] = /AS gateway\n([\s\S]*?)\nFROM /.exec(dockerfile) ?? []
    const jsonOf = (instruction: string): string[] =>
      JSON.parse(new RegExp(`^${instruction} (\\[.*\\])$`, 'm').exec(gateway)?.[1] ?? '[]')
    const variables = [...(/^ENV (.*)$/m.exec(gateway)?.[1]?.matchAll(/(\w+)=(\S+)/g) ?? [])].flatMap(
      ([, key = '', value = '']) => ['--setenv', key, value],
    )
    const health: string[] = JSON.parse(/^HEALTHCHECK .*CMD (\[.*\])$/m.exec(gateway)?.[1] ?? '[]')
    const data = join(folder, 'data')
    const port = '17419'

    /** What the image's stage puts together, with its user, its variables and a root that nobody can write; node is where the base image has it. */
    function inImage(command: readonly string[]): string[] {
      const place = join(home, '.local/lib/dragoman', version)
      const system = ['/usr', '/lib', '/lib64', '/etc'].filter(existsSync).flatMap((path) => ['--ro-bind', path, path])
      const own = [
        '--ro-bind',
        join(place, 'app'),
        '/opt/dragoman',
        '--ro-bind',
        join(place, 'node'),
        '/opt/node',
        '--bind',
        data,
        '/data',
      ]
      const config = ['--ro-bind', join(home, 'dragoman.yaml'), '/config/dragoman.yaml']
      const user = ['--unshare-user', '--uid', '1000', '--gid', '1000', '--cap-drop', 'ALL']
      const env = ['--clearenv', '--setenv', 'PATH', '/opt/node/bin', ...variables, '--setenv', 'DRAGOMAN_PORT', port]
      return [
        'bwrap',
        ...system,
        ...own,
        ...config,
        '--proc',
        '/proc',
        '--dev',
        '/dev',
        '--remount-ro',
        '/',
        ...user,
        ...env,
        '--die-with-parent',
        '--chdir',
        '/data',
        ...command,
      ]
    }

    test('serves without rights on a read-only root, and its health check passes', async () => {
      mkdirSync(data, { mode: 0o777 })
      expect(gateway).toMatch(/^USER 1000:1000$/m)
      const command = jsonOf('CMD').map((word) => word.replace('/etc/dragoman/', '/config/'))
      const [program = '', ...args] = inImage([...jsonOf('ENTRYPOINT'), ...command])
      const asked = firstAnswer([program, ...args, '--host', '127.0.0.1'], {
        env: process.env,
        beforeEnd: async () => {
          const [check = '', ...rest] = inImage(health)
          await run(check, rest)
        },
      })
      expect(await asked).toBe('Is anybody there?')
      const [check = '', ...rest] = inImage(health)
      await expect(run(check, rest), 'nothing serves any more').rejects.toMatchObject({ code: 1 })
      const [writer = '', ...write] = inImage(['node', '-e', "require('fs').writeFileSync('/opt/x', '')"])
      await expect(run(writer, write)).rejects.toMatchObject({ stderr: expect.stringContaining('EROFS') })
    })
  })
})
