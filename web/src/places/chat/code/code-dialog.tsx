import { useState } from 'preact/hooks'
import { apiBase } from '../../../api/base.ts'
import { apiKey } from '../../../api/session.ts'
import { chatTexts } from '../../../texts/chat.ts'
import { Button } from '../../../ui/button.tsx'
import { Command } from '../../../ui/copy.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { type Conversation, pathOf } from '../conversation.ts'
import { bodyOf } from '../request.ts'
import { asCurl, asJavaScript, asPython } from './code.ts'

const writers = { curl: asCurl, JavaScript: asJavaScript, Python: asPython }

/** The conversation as a request for programs, to copy. */
export function CodeDialog({ conversation, model, onClose }: { conversation: Conversation; model: string; onClose: () => void }) {
  const [kind, setKind] = useState<keyof typeof writers>('curl')
  const path = pathOf(conversation)
  const asked = path.slice(0, path.findLastIndex(({ role }) => role === 'user') + 1)
  const body = bodyOf(conversation, asked, model)
  const text = writers[kind](body, { base: apiBase(), needsKey: apiKey.value !== undefined })
  return (
    <Dialog title={chatTexts.codeTitle} isWide onClose={onClose}>
      <div class="stack">
        <fieldset class="choices">
          <legend class="unseen">{chatTexts.codeTitle}</legend>
          {chatTexts.codeKinds.map((each) => (
            <Button key={each} aria-pressed={each === kind} onClick={() => setKind(each)}>
              {each}
            </Button>
          ))}
        </fieldset>
        <Command text={text} what={`the ${kind} code`} />
      </div>
    </Dialog>
  )
}
