// npm run agents: installs the agents of test/agents/installs.json for the tests, unless they are installed, each in a folder of its own
// outside the repository. They are not dependencies: together they are a gigabyte. Prints the folders to put on the PATH.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { npm, root, say } from './commands.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()

const tools = process.env.DRAGOMAN_TEST_TOOLS ?? join(tmpdir(), 'dragoman-test-tools')
const agents = JSON.parse(readFileSync(join(root, 'test', 'agents', 'installs.json'), 'utf8'))

for (const [name, agent] of Object.entries(agents)) {
  const folder = join(tools, `agent-${name}-${agent.version}`)
  if (existsSync(folder) || install(name, agent, folder)) process.stdout.write(`${join(folder, 'bin')}\n`)
  else process.exitCode = 1
}

/** Installs beside the folder, and moves the result there when it is complete. */
function install(name, { package: packageName, version, program, needsOptional }, folder) {
  say(`installing ${packageName} ${version} for the tests`)
  mkdirSync(tools, { recursive: true })
  const work = mkdtempSync(join(tools, 'install-'))
  try {
    writeFileSync(join(work, 'package.json'), '{}')
    const flags = [
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      ...(needsOptional ? [] : ['--omit=optional']),
    ]
    const { status, output } = npm(['install', ...flags, `${packageName}@${version}`], { cwd: work })
    if (status !== 0 || !existsSync(join(work, 'node_modules', program))) {
      say(`${packageName} ${version} cannot be installed:\n${output.trim().slice(-2000)}`)
      return false
    }
    mkdirSync(join(work, 'bin'))
    symlinkSync(join('..', 'node_modules', program), join(work, 'bin', name))
    renameSync(work, folder)
    return true
  } catch (error) {
    // Another process installed the same.
    if (existsSync(folder)) return true
    throw error
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
