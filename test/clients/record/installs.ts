import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { testTools } from '../../support/process/test-tools.ts'

export type Packages = {
  readonly registry: 'npm' | 'pypi'
  /** The first one's version is the client's. */
  readonly names: readonly [string, ...string[]]
}

/** Installs the newest version of a client's packages in a folder of its own, outside the repository. */
export function install(client: string, { registry, names }: Packages): { readonly folder: string; readonly version: string } {
  const folder = join(testTools, `client-${client}`)
  if (registry === 'npm') {
    mkdirSync(folder, { recursive: true })
    const manifest = join(folder, 'package.json')
    if (!existsSync(manifest)) writeFileSync(manifest, '{}')
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    run('npm', ['install', ...flags, ...names.map((name) => `${name}@latest`)], folder)
    const installed = readFileSync(join(folder, 'node_modules', names[0], 'package.json'), 'utf8')
    return { folder, version: JSON.parse(installed).version }
  }
  if (!existsSync(folder)) run('python3', ['-m', 'venv', folder])
  const python = join(folder, 'bin', 'python')
  // Only wheels, so nothing of theirs runs.
  const flags = ['--only-binary=:all:', '--upgrade', '--quiet', '--disable-pip-version-check', '--no-input']
  run(python, ['-m', 'pip', 'install', ...flags, ...names])
  const read = `import importlib.metadata; print(importlib.metadata.version('${names[0]}'))`
  return { folder, version: run(python, ['-c', read]).trim() }
}

function run(command: string, args: readonly string[], cwd?: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', ...(cwd !== undefined && { cwd }) })
  if (status === 0) return stdout
  throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr.trim().slice(-2000)}`)
}
