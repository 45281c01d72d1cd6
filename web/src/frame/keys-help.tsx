import { signal } from '@preact/signals'
import { frameTexts } from '../texts/frame.ts'
import { Dialog } from '../ui/dialog.tsx'

export const showsKeys = signal(false)

export function KeysHelp() {
  if (!showsKeys.value) return null
  const close = () => {
    showsKeys.value = false
  }
  return (
    <Dialog title={frameTexts.keys} onClose={close}>
      <dl class="keys">
        {frameTexts.keyList.map(([keys, what]) => [
          <dt key={keys}>{keys.split(' ').map((key) => [<kbd key={key}>{key}</kbd>, ' '])}</dt>,
          <dd key={`${keys} what`}>{what}</dd>,
        ])}
      </dl>
    </Dialog>
  )
}
