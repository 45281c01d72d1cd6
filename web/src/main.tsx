import './styles/base.css'
import './styles/frame.css'
import './styles/ui.css'
import './styles/places.css'
import { render } from 'preact'
import { connectionLost } from './api/connection.ts'
import { findCaller } from './frame/caller.ts'
import { Frame } from './frame/frame.tsx'
import { listenToKeys } from './frame/shortcuts.ts'
import { applyTheme } from './frame/theme.ts'

applyTheme()
listenToKeys()
addEventListener('offline', connectionLost)
// A file that nothing takes would replace the page.
for (const event of ['dragover', 'drop'] as const) addEventListener(event, keepPage)
// A refusal opens the sign-in, a lost connection the line at the top.
findCaller().catch(() => undefined)
const root = document.getElementById('page')
if (root !== null) render(<Frame />, root)

function keepPage(event: DragEvent): void {
  if (event.defaultPrevented || event.dataTransfer?.types.includes('Files') !== true) return
  if (event.target instanceof HTMLInputElement && event.target.type === 'file') return
  event.preventDefault()
  event.dataTransfer.dropEffect = 'none'
}
