import { existsSync } from 'node:fs'
import { installedFrom } from './test-tools.ts'

/** Where scripts/installers/python-clients.mjs puts the packages of these requirements. */
const packages = installedFrom('python-clients', new URL('../../python-clients/requirements.txt', import.meta.url))
const areInstalled = existsSync(packages)

export const pythonClients = {
  areInstalled,
  /** For the name of a test that needs them. */
  hint: areInstalled ? '' : ' (skipped: install them with `npm run python-clients`)',
  /** The environment of a program that uses them. Files of theirs go to the folder. */
  environment(folder: string): NodeJS.ProcessEnv {
    // A proxy that is not there, in case a library asks for something elsewhere.
    const closed = { HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1' }
    return { ...process.env, ...closed, HOME: folder, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' }
  },
}
