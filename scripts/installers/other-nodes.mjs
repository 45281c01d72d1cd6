// npm run other-nodes: installs the oldest Node.js that Dragoman runs with and the newest that is tested, for the tests that run with them;
// prints their paths.
import { fail } from '../commands.mjs'
import { ensureNode, installNode } from '../node.mjs'

await ensureNode()
for (const version of ['22.13.1', '26.10.0']) {
  const { binary, failure } = await installNode(version, `fetching Node.js ${version} for the tests`)
  if (failure !== undefined) fail(failure)
  process.stdout.write(`${binary}\n`)
}
