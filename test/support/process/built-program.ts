import { spawnSync } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** What users run: it starts in a third of the time that the sources need. */
export const builtProgram = fileURLToPath(new URL('../../../dist/cli/program.js', import.meta.url))

/** Builds it unless it is built from these sources. */
export function buildProgram(): void {
  const bootstrap = fileURLToPath(new URL('../../../scripts/bootstrap.mjs', import.meta.url))
  const build = `import('${pathToFileURL(bootstrap)}').then(({ ensureBuilt }) => ensureBuilt())`
  const { status } = spawnSync(process.execPath, ['-e', build], { stdio: 'inherit' })
  if (status !== 0) throw new Error('the build failed')
}

/** For vitest: before the first test of a project. */
export const setup = buildProgram
