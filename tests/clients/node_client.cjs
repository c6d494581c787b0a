// Node's http and https modules, led through the proxy by global-agent.
const http = require("node:http");
const https = require("node:https");
require("global-agent").bootstrap();

const url = process.argv[2];
const { get } = url.startsWith("https:") ? https : http;
get(url, (answer) => {
  let text = "";
  answer.setEncoding("utf8");
  answer.on("data", (piece) => (text += piece));
  answer.on("end", () => console.log(`${text}\n${answer.statusCode}`));
}).on("error", (error) => {
  console.error(error);
  process.exitCode = 1;
});
